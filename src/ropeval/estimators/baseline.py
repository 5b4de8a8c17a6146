"""Trivial answers. A method that does not beat them has learned nothing about the policy."""

import numpy as np

from ropeval.data import Problem
from ropeval.data.columns import BLOCK
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig


class BaselineConfig(PartConfig):
    """Nothing to choose."""


def mean_reward(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The log's mean reward per step, for ever: r̄/(1−γ)."""
    return Estimated(np.array([problem.dataset.rewards.mean(dtype=np.float64) / (1.0 - problem.gamma)]))


def mean_return(problem: Problem, config: BaselineConfig, run: Run) -> Estimated:
    """The mean over the logged episodes of Σ_t γ^t r_t."""
    data = problem.dataset
    total = 0.0
    for begin in range(0, len(data), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(data)))
        episode = np.searchsorted(data.starts, rows, side="right") - 1
        time = rows - data.starts[episode]  # [n] step within its episode
        total += float(np.sum(problem.gamma**time * data.rewards[rows].astype(np.float64)))
    return Estimated(np.array([total / data.num_episodes]))


MEAN_REWARD = Estimator(BaselineConfig, mean_reward, "the log's mean reward/(1−γ); ignores the policy", False)
MEAN_RETURN = Estimator(
    BaselineConfig, mean_return, "mean discounted return of the logged episodes; ignores the policy", False
)
