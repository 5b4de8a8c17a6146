"""Other logs that could have been: as many episodes as the log has, drawn from it with replacement.

Whole episodes are drawn, since the steps of one episode depend on each other. A resample is kept as how often it holds
each episode, [E] counts. Training draws its rows through a table: an episode in proportion to its rows in the
resample, by Walker's alias method (two looks into a table of length E, however long the log), then a row of it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.arrays import Floats, Integers

Counts = Integers
PURPOSE = 3  # keeps these random numbers apart from those that draw actions


@dataclass(frozen=True)
class Resamples:
    """Resample i depends on the seed, on i and on the number of episodes; so it is the same for every policy and
    every method, and two policies can be compared within it."""

    seed: int
    episodes: int

    def counts(self, first: int, count: int) -> Counts:
        """[count, E] how often resamples `first`, `first`+1, … hold each episode."""
        result = np.empty((count, self.episodes), np.int64)
        for place in range(count):
            rng = np.random.default_rng([self.seed, PURPOSE, first + place])
            drawn = rng.integers(self.episodes, size=self.episodes)
            result[place] = np.bincount(drawn, minlength=self.episodes)
        return result


class RowTable(NamedTuple):
    """How members draw rows of their own resample. Inside a member, `keep` and `other` have lost their first axis.

    It is made on the host: whoever trains puts it on a device.
    """

    keep: Any  # [M, E] probability of staying with an episode that was hit …
    other: Any  # [M, E] … and where to go instead
    starts: Any  # [E]
    lengths: Any  # [E]

    def of(self, member: int) -> "RowTable":
        return self._replace(keep=self.keep[member], other=self.other[member])

    def draw(self, count: int, key: Array) -> Array:
        """[count] rows, independent, with replacement; every row of the resample alike."""
        cell, coin, within = jax.random.bits(key, (3, count), jnp.uint32)
        hit = (cell % jnp.uint32(len(self.starts))).astype(jnp.int32)
        stays = coin.astype(jnp.float32) * 2.0**-32 < self.keep[hit]
        episode = jnp.where(stays, hit, self.other[hit])
        step = within % self.lengths[episode].astype(jnp.uint32)
        return self.starts[episode] + step.astype(jnp.int32)


def table_axes(table: RowTable | None) -> RowTable | None:
    """The member axis of each leaf (0 or None), as `vmap` takes it."""
    return None if table is None else RowTable(0, 0, None, None)


def row_table(counts: Counts, starts: NDArray[np.integer]) -> RowTable:
    """For resamples [M, E] of a log whose episode e holds the rows starts[e]:starts[e+1]."""
    lengths = np.diff(starts)
    tables = [alias_table(row * lengths if (row * lengths).any() else lengths) for row in counts]
    keep, other = (np.stack(part) for part in zip(*tables, strict=True))
    whole = (part.astype(np.int32) for part in (other, starts[:-1], lengths))
    return RowTable(keep.astype(np.float32), *whole)


def alias_table(weights: NDArray[np.integer]) -> tuple[Floats, Integers]:
    """(keep, other), [E] each: hit a cell uniformly, stay with probability `keep`, else take `other`.

    Cells with less than the mean weight are filled up, one after the other, from the surplus of those with more;
    a cell whose surplus is used up is itself filled from the next one.
    """
    share = weights * (len(weights) / weights.sum())  # [E] mean 1
    light, heavy = np.flatnonzero(share < 1.0), np.flatnonzero(share >= 1.0)
    keep, other = np.ones(len(share)), np.arange(len(share))
    needed, spare = np.cumsum(1.0 - share[light]), np.cumsum(share[heavy] - 1.0)
    last = len(heavy) - 1
    before = np.concatenate([np.zeros(1), needed])[:-1]
    keep[light] = share[light]
    other[light] = heavy[np.minimum(np.searchsorted(spare, before, side="right"), last)]
    emptied = np.searchsorted(needed, spare[:-1], side="left")  # by which light cell; beyond the last: by none
    used_up = np.flatnonzero(emptied < len(light))
    keep[heavy[used_up]] = 1.0 - (needed[emptied[used_up]] - spare[used_up])
    other[heavy[used_up]] = heavy[used_up + 1]
    return np.clip(keep, 0.0, 1.0), other
