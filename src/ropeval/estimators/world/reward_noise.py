"""Rewards that scatter around their mean, for whoever asks how returns spread.

The network says the mean reward of a pair, and for a value that is all. For a return it is not: a patient who goes
home for 1 or dies for −1 never earns the 0.3 between. So, where rows that members have not seen leave noise, a reward
is drawn from logged rows whose predicted reward is nearest to it: those that ended, where the episode ends there, and
those that went on, where it goes on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
NEAR = 64  # rows among which a reward is drawn, or
SHARE = 0.05  # so many of them all, where they are few


class Pool(NamedTuple):
    predicted: Doubles  # [n] rising
    logged: Doubles  # [n]

    def draw(self, rewards: Doubles, rng: np.random.Generator) -> Doubles:
        """A logged reward for every predicted one, of the same shape; among its equals, however many these are."""
        count = len(self.predicted)
        width = max(1, min(NEAR, int(SHARE * count)))
        first, last = (np.searchsorted(self.predicted, rewards, side) for side in ("left", "right"))
        start = np.clip((first + last - width) // 2, 0, count - width)
        start, stop = np.minimum(start, first), np.maximum(start + width, last)
        return self.logged[rng.integers(start, stop)]


class RewardNoise(NamedTuple):
    going: Pool
    ending: Pool


def make_reward_noise(predicted: Doubles, logged: Doubles, goes_on: NDArray[np.bool_]) -> RewardNoise:
    """From logged rows [n] and what members that have not seen them predict. Where one kind is missing, the other."""
    return RewardNoise(*(_pool(predicted, logged, kind) for kind in (goes_on, ~goes_on)))


def _pool(predicted: Doubles, logged: Doubles, some: NDArray[np.bool_]) -> Pool:
    some = some if some.any() else ~some
    order = np.argsort(predicted[some], kind="stable")
    return Pool(predicted[some][order], logged[some][order])
