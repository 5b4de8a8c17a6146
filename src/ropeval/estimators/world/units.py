"""From the log's units to the network's and back: what kind each column is, its scale, its range.

A column that takes few values (a flag, a stage, a one-hot code) is predicted as a choice among them, since a mean of
two values is none of them. Where all such columns together show few combinations (a grid, a chain, a one-hot code)
they are one choice; otherwise each is a choice of its own. Where they change in far fewer ways than they have values (a
clock, a place on a board), the choice is among the changes: then one hour more is learned once, not for every hour. The
other columns are predicted by how much they change; whole numbers stay whole.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.arrays import STATIC
from ropeval.blocks import blocks, in_order
from ropeval.data import Dataset
from ropeval.data.extremes import extremes
from ropeval.data.problem import STD_FLOOR, normaliser
from ropeval.data.streaming import take

Floats = NDArray[np.float32]
FEW_VALUES = 64  # different ones of a column, up to which it is a choice
FEW_TOGETHER = 200  # combinations of all such columns, up to which they are one choice
ROWS_PER_VALUE = 20  # and each of them must be seen often: so many rows for each
FEWER = 1 / 3  # ways to change, as a share of the values, below which the choice is among these
MARGIN = 0.1  # around the logged range, as a share of it
HARDLY = 0.01  # of the range: so far beyond it a state is on its edge, as where a simulator is not quite exact
LOOKED_AT = 100_000  # rows, spread over the log, by which kinds of columns are told apart in long logs


class Choice(NamedTuple):
    """Columns whose values change together."""

    columns: tuple[int, ...]
    values: Floats  # [V, len(columns)] every combination there is
    outcomes: Floats  # [C, len(columns)] what is chosen among: these values, or the ways in which they change
    relative: bool  # whether it is the changes


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Units:
    """Arrays by column of the log; what decides the shape of a program is hashable."""

    state_mean: Any  # [S]
    state_std: Any
    action_mean: Any  # [A]; zeros and ones where actions are discrete
    action_std: Any
    change_mean: Any  # [D] of the columns that move
    change_std: Any
    reward_mean: Any  # []
    reward_std: Any
    seen_low: Any  # [S] the logged range
    seen_high: Any
    state_low: Any  # [S] the same; with a margin where a column moves
    state_high: Any
    action_low: Any  # [A] the logged range; of a one-hot code: 0, and 1 where the action was ever taken
    action_high: Any
    reward_low: Any  # []
    reward_high: Any
    ends: Any  # [] 1 where the log holds terminations at all, else 0
    values: tuple[Any, ...]  # of every choice: [V, columns]
    outcomes: tuple[Any, ...]  # [C, columns] what is chosen among: values, or changes
    moving: tuple[int, ...] = field(metadata=STATIC)  # columns predicted by their change, D of them
    whole: tuple[bool, ...] = field(metadata=STATIC)  # [D] whether such a column holds whole numbers only
    chosen: tuple[tuple[int, ...], ...] = field(metadata=STATIC)  # the columns of every choice
    relative: tuple[bool, ...] = field(metadata=STATIC)  # of every choice, whether it is among changes
    actions: int | None = field(metadata=STATIC)  # length of the one-hot code of discrete actions

    @property
    def choices(self) -> tuple[int, ...]:
        """Among how many outcomes each is."""
        return tuple(len(outcomes) for outcomes in self.outcomes)

    @property
    def chosen_columns(self) -> list[int]:
        """Of all choices, one after the other."""
        return [column for columns in self.chosen for column in columns]

    def taken(self, place: int, state: Array, drawn: Array) -> Array:
        """[columns] of a choice after its outcome `drawn`, in a state [S]. A change that leads to no logged value leads
        to the nearest."""
        outcome = jnp.asarray(self.outcomes[place])[drawn]
        if not self.relative[place]:
            return outcome
        values = jnp.asarray(self.values[place])
        reached = state[jnp.array(self.chosen[place])] + outcome
        return values[jnp.argmin(((values - reached[None]) ** 2).sum(axis=1))]

    def code(self, action: Array) -> Array:
        """[A] of an action [A] or []; one that the log cannot know is all zeros."""
        return action if self.actions is None else jax.nn.one_hot(action, self.actions)

    def beyond(self, action: Array) -> Array:
        """How far an action lies outside the logged ones, in widths of their range; an action never taken: 1."""
        code = self.code(action)
        width = jnp.maximum(self.action_high - self.action_low, STD_FLOOR)
        out = jnp.maximum(jnp.maximum(self.action_low - code, code - self.action_high) / width, 0.0).max()
        return out if self.actions is None else jnp.where((out > 0.0) | (code.sum() == 0.0), 1.0, 0.0)

    def strayed(self, state: Array) -> Array:
        """Whether a state [S] lies outside all logged ones in some column."""
        edge = HARDLY * (self.seen_high - self.seen_low)
        return ((state < self.seen_low - edge) | (state > self.seen_high + edge)).any()

    def pair(self, state: Array, action: Array) -> Array:
        """Input of the network [S + A] for a state [S] and an action [A] or []."""
        code = self.code(action)
        return jnp.concatenate(
            [(state - self.state_mean) / self.state_std, (code - self.action_mean) / self.action_std]
        )


def make_units(dataset: Dataset) -> Units:
    rows = rows_looked_at(len(dataset))
    goes_on = ~dataset.terminations[rows]
    goes_on = goes_on if goes_on.any() else ~goes_on
    states, following = take(dataset.observations, rows), take(dataset.next_observations, rows)
    seen = np.concatenate([states, following[goes_on]])
    choices = [_by_changes(choice, (following - states)[goes_on]) for choice in find_choices(seen)]
    chosen = {column for choice in choices for column in choice.columns}
    moving = tuple(column for column in range(seen.shape[1]) if column not in chosen)
    columns = np.array(moving, int)
    sizes = np.abs(seen[:, columns]).max(axis=0)
    change_mean, change_std = normaliser((following - states)[goes_on][:, columns], sizes)
    low, high = _range(dataset)
    whole = tuple(bool((seen[:, column] == np.round(seen[:, column])).all()) for column in moving)
    margin = np.zeros_like(low)
    margin[columns] = MARGIN * (high - low)[columns]
    margin[columns] = np.where(whole, np.floor(margin[columns]), margin[columns])  # a bound is a value, too
    width, space = dataset.num_actions, dataset.space
    if width is None:
        action_mean, action_std = normaliser(take(dataset.actions, rows))
        action_low, action_high = space.low, space.high
    else:
        action_mean, action_std = np.zeros(width, np.float32), np.ones(width, np.float32)
        taken = np.bincount(np.asarray(dataset.actions), minlength=width) > 0
        action_low, action_high = np.zeros(width, np.float32), taken.astype(np.float32)
    reward_mean, reward_std = normaliser(dataset.rewards[:, None])
    state_mean, state_std = normaliser(states)
    return Units(
        state_mean, state_std, action_mean, action_std, change_mean, change_std, reward_mean[0], reward_std[0],
        low, high, low - margin, high + margin, action_low, action_high, dataset.rewards.min(), dataset.rewards.max(),
        np.float32(dataset.terminations.any()), tuple(choice.values for choice in choices),
        tuple(choice.outcomes for choice in choices), moving, whole, tuple(choice.columns for choice in choices),
        tuple(choice.relative for choice in choices), width,
    )  # fmt: skip


def rows_looked_at(size: int) -> NDArray[np.int64]:
    """One of every stretch, anywhere in it: at even distances, all might be the first steps of episodes."""
    every = max(1, size // LOOKED_AT)
    first = np.arange(0, size, every)
    if every == 1:
        return first
    return np.minimum(first + np.random.default_rng(0).integers(every, size=len(first)), size - 1)


def find_choices(seen: Floats) -> list[Choice]:
    """The columns of states [n, S] that take few values, each often: as one choice, or one by one."""
    few = min(FEW_VALUES, len(seen) // ROWS_PER_VALUE)
    columns = [c for c in range(seen.shape[1]) if len(np.unique(seen[:1000, c])) <= few]  # dismisses most at once
    columns = [c for c in columns if len(np.unique(seen[:, c])) <= few]
    if not columns:
        return []
    together = np.unique(seen[:, columns], axis=0)
    most = max(FEW_TOGETHER, len(columns))  # a one-hot code is one choice, however long
    if len(together) <= min(most, len(seen) // ROWS_PER_VALUE):
        return [Choice(tuple(columns), together, together, False)]
    each = [(c, np.unique(seen[:, c])[:, None]) for c in columns]
    return [Choice((c,), values, values, False) for c, values in each]


def _by_changes(choice: Choice, changes: Floats) -> Choice:
    """Among the ways in which its columns change [n, S], where these are far fewer."""
    ways = np.unique(changes[:, list(choice.columns)], axis=0)
    return choice._replace(outcomes=ways, relative=True) if len(ways) < FEWER * len(choice.values) else choice


def _range(dataset: Dataset) -> tuple[Floats, Floats]:
    """Smallest and largest of every column, in blocks. Where a terminating step leads counts, too: it was seen."""
    low, high = np.full(dataset.observations.shape[1], np.inf), np.full(dataset.observations.shape[1], -np.inf)

    def edges(part: slice) -> tuple[Floats, ...]:
        return *extremes(take(dataset.observations, part)), *extremes(take(dataset.next_observations, part))

    for least, most, next_least, next_most in in_order(edges, blocks(len(dataset))):
        low, high = np.minimum(low, np.minimum(least, next_least)), np.maximum(high, np.maximum(most, next_most))
    return low.astype(np.float32), high.astype(np.float32)
