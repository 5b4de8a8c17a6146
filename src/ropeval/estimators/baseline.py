"""Trivial answers. A method that does not beat them has learned nothing about the policy."""

from collections.abc import Callable

import numpy as np

from ropeval.arrays import Integers
from ropeval.data import Log, Problem
from ropeval.data.returns import discounted_steps, episode_returns
from ropeval.estimators.estimator import Estimated, Estimator, exact, replicated
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig


class BaselineConfig(PartConfig):
    """Nothing to choose."""


def mean_reward(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The log's mean reward per step, for ever or for `horizon` steps: r̄/(1−γ), r̄·Σ_{t<H} γ^t."""
    return _for_every_policy(_mean_reward, problem.log, run)


def mean_return(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The mean over the logged episodes of Σ_t γ^t r_t."""
    return _for_every_policy(_mean_return, problem.log, run)


def _for_every_policy(make: Callable[[Log, Run], Estimated], log: Log, run: Run) -> Estimated:
    """Resampling a long log takes as long as much else, and here no policy is looked at."""
    return log.once((make, run.resamples), lambda: make(log, run))


def _mean_reward(log: Log, run: Run) -> Estimated:
    horizon = discounted_steps(log.gamma, np.inf if log.horizon is None else log.horizon)
    sums, lengths = episode_returns(log.dataset, 1.0), np.diff(log.dataset.starts)  # [E]

    def average(counts: Integers) -> float:
        steps = counts @ lengths
        return float(counts @ sums / steps * horizon) if steps else np.nan

    values, replicates = replicated(run, np.ones(len(sums), np.int64), average)
    return Estimated(values, replicates=replicates)  # what a step earns is not that of an initial state


def _mean_return(log: Log, run: Run) -> Estimated:
    returns = log.returns  # [E]
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
