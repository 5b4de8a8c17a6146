"""What any policy can be worth, as far as the log and γ tell.

If the log shows the smallest and the largest reward, no policy earns less than r_min nor more than r_max in each of the
1/(1−γ) steps that γ looks ahead. Where episodes end, it may also earn nothing from some step on. And where every one of
them ends after the same number of steps, as in a bandit, there are no more steps than that.
"""

from typing import NamedTuple

import numpy as np

from ropeval.arrays import Booleans, Floats
from ropeval.data.dataset import Dataset
from ropeval.data.returns import discounted_steps

SLACK = 0.02  # of the largest value, beyond which an estimate is outside: a fit is never exact
ENOUGH = 20  # episodes of one length, all of them ended, from which on that length is the task's own


class Bounds(NamedTuple):
    low: float
    high: float

    @property
    def reach(self) -> float:
        """The largest size of a value."""
        return max(abs(self.low), abs(self.high))

    def outside(self, values: Floats) -> Booleans:
        """Which values are beyond all that the rewards allow; those that are not numbers are not."""
        if not np.isfinite(self.reach):
            return np.zeros(np.shape(values), bool)
        slack = SLACK * self.reach
        with np.errstate(invalid="ignore"):
            return (values < self.low - slack) | (values > self.high + slack)

    def cut(self, values: Floats) -> Floats:
        """The nearest values that the rewards allow."""
        return np.clip(values, self.low, self.high)

    def with_zero(self) -> "Bounds":
        return Bounds(min(self.low, 0.0), max(self.high, 0.0))


ANYTHING = Bounds(-np.inf, np.inf)


def value_bounds(dataset: Dataset, gamma: float, steps: int | None = None, ends: bool = True) -> Bounds:
    """`steps`: the most that an episode can have, None: without end; `ends`: whether the log's terminations count."""
    low, high = float(dataset.rewards.min()), float(dataset.rewards.max())
    if low == high == 0.0:
        return ANYTHING  # no reward was seen
    horizon = float(discounted_steps(gamma, np.inf if steps is None else steps))
    bounds = Bounds(low * horizon, high * horizon)
    return bounds.with_zero() if ends and dataset.terminations.any() else bounds


def known_length(dataset: Dataset) -> int | None:
    """The number of steps after which every episode ends; None where they differ, or are too few to tell."""
    lengths = np.diff(dataset.starts)
    alike = dataset.num_episodes >= ENOUGH and lengths.min() == lengths.max() > 0
    return int(lengths[0]) if alike and dataset.terminations[dataset.starts[1:] - 1].all() else None
