"""What the log itself earned from every step on: what V_b is regressed on."""

from dataclasses import dataclass, replace
from functools import cached_property

import jax
import numpy as np
from numpy.typing import NDArray

from ropeval.blocks import blocks
from ropeval.data import Dataset, Transitions
from ropeval.data.returns import discounted_steps, onwards
from ropeval.files import release

Doubles = NDArray[np.float64]
UNFINISHED = 0.03  # of a return's weight beyond a time-out, from which on it says too little about V_b
MISSED = 0.1  # of the first steps, whose returns are not known: were there more, those that ended would speak for all


@dataclass(frozen=True, eq=False)
class LogReturns:
    """Returns from every logged step on; after a time-out it goes on as the log's later steps do."""

    returns: Doubles  # [N]
    known: NDArray[np.bool_]  # [N] whether next to nothing of it lies beyond a time-out; or all, where few are so

    @cached_property
    def scale(self) -> tuple[np.float32, ...]:
        """Mean, standard deviation, smallest and largest of those that are known."""
        seen = self.returns if self.known.all() else self.returns[self.known]
        return tuple(np.float32(v) for v in (seen.mean(), seen.std() or 1.0, seen.min(), seen.max()))

    def rows(self, data: Transitions) -> Transitions:
        """The same rows with the standardised return for a reward, and `discount` 0 where it is not known."""
        mean, std, *_ = (float(v) for v in self.scale)
        scaled = np.empty(len(self.returns), np.float32)
        for part in blocks(len(scaled)):  # a long log's doubles are not held twice
            scaled[part] = (self.returns[part] - mean) / std
        reward, discount = jax.device_put((scaled, self.known.astype(np.float32)))
        return replace(data, rows=data.rows._replace(reward=reward, discount=discount))


def log_returns(dataset: Dataset, gamma: float, horizon: int | None = None) -> LogReturns:
    """From every step on, or of the next `horizon` steps."""
    if horizon is not None:
        return _next_returns(dataset, gamma, horizon)
    lengths, last = np.diff(dataset.starts), dataset.starts[1:] - 1
    rewards, returns, known = dataset.rewards, np.zeros(len(dataset)), np.ones(len(dataset), bool)
    cut = ~dataset.terminations[last * (lengths > 0)] & (lengths > 0)
    following = np.where(cut, onwards(dataset, gamma).worth(np.inf), 0.0)  # [E] value after the last step
    beyond = cut.astype(np.float64)  # [E] weight of what lies beyond a time-out
    for back in range(int(lengths.max(initial=0))):  # all episodes at once, from their ends
        going = lengths > back
        rows = last[going] - back
        following[going] = rewards[rows] + gamma * following[going]
        beyond[going] *= gamma
        returns[rows], known[rows] = following[going], beyond[going] <= UNFINISHED
    release(rewards)
    return LogReturns(returns, _known(known, dataset))


def _next_returns(dataset: Dataset, gamma: float, horizon: int) -> LogReturns:
    """After a time-out within the horizon it goes on as the log's later steps do."""
    left = np.repeat(dataset.starts[1:], np.diff(dataset.starts)) - np.arange(len(dataset))  # [N] rows to the end
    returns, rewards = np.zeros(len(dataset)), dataset.rewards.astype(np.float64)
    for ahead in range(min(horizon, int(left.max()))):  # all rows at once
        rows = np.flatnonzero(left > ahead)
        returns[rows] += gamma**ahead * rewards[rows + ahead]
    last = np.repeat(np.maximum(dataset.starts[1:] - 1, 0), np.diff(dataset.starts))
    missing = discounted_steps(gamma, horizon) - discounted_steps(gamma, np.minimum(left, horizon))
    missing = np.where(dataset.terminations[last], 0.0, missing)
    known = _known(missing <= UNFINISHED * discounted_steps(gamma, horizon), dataset)
    beyond = gamma**left * onwards(dataset, gamma).worth(np.maximum(horizon - left, 0))
    return LogReturns(returns + np.where(dataset.terminations[last], 0.0, beyond), known)


def _known(known: NDArray[np.bool_], dataset: Dataset) -> NDArray[np.bool_]:
    """These, or all: where many episodes were cut off before they were long enough, what is known are the returns of
    those that ended, and where the sick end and the healthy are cut off, V_b would be that of the sick."""
    first = dataset.starts[:-1][np.diff(dataset.starts) > 0]
    return known if known[first].mean() >= 1.0 - MISSED else np.ones_like(known)
