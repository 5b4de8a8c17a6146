"""Trivial answers. A method that does not beat them has learned nothing about the policy."""

import numpy as np

from ropeval.arrays import Integers
from ropeval.data import Problem
from ropeval.data.returns import discounted_steps, episode_returns
from ropeval.estimators.estimator import Estimated, Estimator, exact, replicated
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig


class BaselineConfig(PartConfig):
    """Nothing to choose."""


def mean_reward(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The log's mean reward per step, for ever or for `horizon` steps: r̄/(1−γ), r̄·Σ_{t<H} γ^t."""
    data = problem.dataset
    horizon = discounted_steps(problem.gamma, np.inf if problem.horizon is None else problem.horizon)
    sums, lengths = episode_returns(data, 1.0), np.diff(data.starts)  # [E]

    def average(counts: Integers) -> float:
        steps = counts @ lengths
        return float(counts @ sums / steps * horizon) if steps else np.nan

    values, replicates = replicated(run, np.ones(data.num_episodes, np.int64), average)
    return Estimated(values, replicates=replicates)  # what a step earns is not that of an initial state


def mean_return(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The mean over the logged episodes of Σ_t γ^t r_t."""
    returns = episode_returns(problem.dataset, problem.gamma, problem.horizon)  # [E]
    return exact(run, len(returns), lambda counts: float(counts @ returns / counts.sum()))


MEAN_REWARD = Estimator(
    "mean-reward",
    BaselineConfig,
    mean_reward,
    "the log's mean reward/(1−γ); ignores the policy",
    takes_features=False,
    family="baselines",
    sees_policy=False,
    takes_horizon=True,
)
MEAN_RETURN = Estimator(
    "mean-return",
    BaselineConfig,
    mean_return,
    "mean discounted return of the logged episodes; ignores the policy",
    takes_features=False,
    family="baselines",
    sees_policy=False,
    by_group=True,
    takes_horizon=True,
)
