"""Trivial answers. A method that does not beat them has learned nothing about the policy."""

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Problem
from ropeval.data.columns import BLOCK
from ropeval.estimators.estimator import Estimated, Estimator, replicated
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig


class BaselineConfig(PartConfig):
    """Nothing to choose."""


def mean_reward(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The log's mean reward per step, for ever: r̄/(1−γ)."""
    data = problem.dataset
    sums, lengths = _episode_sums(data, 1.0), np.diff(data.starts)  # [E]

    def average(counts: NDArray[np.int64]) -> float:
        steps = counts @ lengths
        return float(counts @ sums / steps / (1.0 - problem.gamma)) if steps else np.nan

    values, replicates = replicated(run, data.num_episodes, average)
    return Estimated(values, replicates=replicates)


def mean_return(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The mean over the logged episodes of Σ_t γ^t r_t."""
    returns = _episode_sums(problem.dataset, problem.gamma)  # [E]
    values, replicates = replicated(run, len(returns), lambda counts: float(counts @ returns / len(returns)))
    return Estimated(values, replicates=replicates)


def _episode_sums(data: Dataset, gamma: float) -> NDArray[np.float64]:
    """[E] Σ_t γ^t r_t of every episode."""
    total = np.zeros(data.num_episodes)
    for begin in range(0, len(data), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(data)))
        episode = np.searchsorted(data.starts, rows, side="right") - 1
        time = rows - data.starts[episode]  # [n] step within its episode
        rewards = data.rewards[rows].astype(np.float64)
        total += np.bincount(episode, np.power(gamma, time) * rewards, data.num_episodes)
    return total


MEAN_REWARD = Estimator(
    "mean-reward",
    BaselineConfig,
    mean_reward,
    "the log's mean reward/(1−γ); ignores the policy",
    takes_features=False,
    family="baselines",
    sees_policy=False,
)
MEAN_RETURN = Estimator(
    "mean-return",
    BaselineConfig,
    mean_return,
    "mean discounted return of the logged episodes; ignores the policy",
    takes_features=False,
    family="baselines",
    sees_policy=False,
)
