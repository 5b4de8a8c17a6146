"""The log as the networks see it: pairs in, outcomes out. Held in memory where they fit, streamed where not."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Transitions
from ropeval.data.streaming import Gathered, take
from ropeval.data.transitions import lay_out
from ropeval.estimators.world.units import Units

Floats = NDArray[np.float32]
Part = slice | NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class LoggedPairs(Gathered):
    """[N, S + A] standardised states and actions."""

    dataset: Dataset
    units: Units

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.dataset), self.dataset.observations.shape[1] + len(self.units.action_mean)

    def __getitem__(self, rows: Part) -> Floats:
        units = self.units
        states, actions = take(self.dataset.observations, rows), take(self.dataset.actions, rows)
        code = actions if units.actions is None else np.eye(units.actions, dtype=np.float32)[actions]
        parts = [(states - units.state_mean) / units.state_std, (code - units.action_mean) / units.action_std]
        return np.concatenate(parts, axis=1, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class LoggedOutcomes(Gathered):
    """[N, 1, D + choices] what is to be predicted of the next state: scaled changes, and numbers of outcomes."""

    dataset: Dataset
    units: Units

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.dataset), 1, len(self.units.moving) + len(self.units.chosen)

    def __getitem__(self, rows: Part) -> Floats:
        units, moving = self.units, list(self.units.moving)
        following = take(self.dataset.next_observations, rows)
        change = following - take(self.dataset.observations, rows)
        parts = [(change[:, moving] - units.change_mean) / units.change_std]
        for columns, outcomes, relative in zip(units.chosen, units.outcomes, units.relative, strict=True):
            came = change if relative else following
            parts.append(number_of(came[:, list(columns)], outcomes)[:, None])
        return np.concatenate(parts, axis=1, dtype=np.float32)[:, None]


def number_of(rows: Floats, values: Floats) -> NDArray[np.int64]:
    """[n] which of the values [C, k] each row [n, k] holds; one that was not looked at counts as its nearest. Most are
    found by their columns, one after the other: to sort the rows of a long log takes minutes."""
    found = np.zeros(len(rows), np.int64)  # of the values' first columns, which combination
    ours, sound = np.zeros(len(values), np.int64), np.ones(len(rows), bool)
    for column in range(values.shape[1]):
        kinds, code = np.unique(values[:, column], return_inverse=True)
        place = np.minimum(np.searchsorted(kinds, rows[:, column]), len(kinds) - 1)
        sound &= kinds[place] == rows[:, column]
        kinds, ours = np.unique(ours * len(values) + code, return_inverse=True)
        found = found * len(values) + place
        place = np.minimum(np.searchsorted(kinds, found), len(kinds) - 1)
        sound &= kinds[place] == found
        found = place
    found = np.argsort(ours)[found]
    found[~sound] = _nearest(rows[~sound], values)
    return found


def _nearest(rows: Floats, values: Floats) -> NDArray[np.int64]:
    unique, place = np.unique(rows, axis=0, return_inverse=True)
    ours, theirs = (part.astype(np.float64) - values.mean(axis=0) for part in (unique, values))
    distance = (theirs**2).sum(axis=1) - 2.0 * ours @ theirs.T  # squared, less what all values have in common
    return np.asarray(distance.argmin(axis=1)[place.reshape(-1)])


def world_rows(dataset: Dataset, units: Units) -> Transitions:
    """Rows for the engine: x is the pair, next_x where it leads, discount whether the episode goes on."""
    reward: Any = (dataset.rewards - units.reward_mean) / units.reward_std
    goes_on = (~dataset.terminations).astype(np.float32)
    nothing = jax.device_put(np.zeros((1, 1, 1), np.float32))
    return lay_out(
        LoggedPairs(dataset, units), LoggedOutcomes(dataset, units), nothing, reward, goes_on, dataset.starts
    )
