"""Ends that the clock makes, in a log that calls them ends of the task.

Whoever leaves after five days leaves in whatever state he is. A method that asks the *state* when an episode ends then
takes every step for as likely the last as any other. Two signs together:

- Many episodes end with the very same, longest length. Were it up to the state, or to chance, some would last longer.
- Their last steps look like steps that go on: neither does a limit on any one column of state and action tell the two
  apart, nor does the nearest neighbour in another episode.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval.arrays import Floats
from ropeval.data import Dataset, Log

MANY, SHARE = 20, 0.1  # episodes that end with the longest length: fewer are chance, or do not matter
TOLD = 0.8  # of such last steps and of others, told apart: from there on a network will learn it
LOOKED_AT = 500  # steps of each kind


class Clock(NamedTuple):
    steps: int  # after which episodes end
    share: float  # of the episodes that do
    told: float  # 0.5–1: how well state and action tell such a last step from one that goes on


def clock_ends(log: Log) -> Clock | None:
    """None where nothing looks like a clock; made once per log."""
    return log.once(clock_ends, lambda: _clock_ends(log))


def _clock_ends(log: Log) -> Clock | None:
    data = log.dataset
    lengths = np.diff(data.starts)
    longest = int(lengths.max())
    stopped = data.starts[:-1][lengths == longest] + longest - 1  # rows
    stopped = stopped[data.terminations[stopped]]
    share = len(stopped) / data.num_episodes
    if longest == 1 or len(stopped) < MANY or share < SHARE:
        return None  # a single step is the last one in every state
    told = told_apart(log, stopped, np.flatnonzero(~data.terminations))
    return Clock(longest, share, told) if told < TOLD else None


def told_apart(log: Log, ended: NDArray[np.int64], going: NDArray[np.int64]) -> float:
    """0.5–1: the share of the rows of both kinds, counting alike, that a simple look puts where they belong."""
    rng = np.random.default_rng(0)
    count = min(LOOKED_AT, len(ended), len(going))
    rows = np.concatenate([np.sort(rng.choice(kind, count, replace=False)) for kind in (ended, going)])
    pairs = log.pairs(log.dataset.num_actions)[rows].astype(np.float64)  # [2n, X]
    is_end = np.arange(len(rows)) < count
    return max(by_one_column(pairs, is_end), by_neighbour(pairs, is_end, _episode(log.dataset, rows)))


def by_one_column(pairs: Floats, is_end: NDArray[np.bool_]) -> float:
    """By the best limit on the best column."""
    best = 0.5
    for column in pairs.T:
        order = np.argsort(column, kind="stable")
        values, signs = column[order], np.where(is_end[order], 1.0, -1.0)
        lead = signs.cumsum()[:-1][np.diff(values) > 0]  # ends less others, up to every limit between two values
        best = max(best, 0.5 + float(np.abs(lead).max(initial=0.0)) / len(column))
    return best


def by_neighbour(pairs: Floats, is_end: NDArray[np.bool_], episode: NDArray[np.int64]) -> float:
    """By the kind of the nearest row of another episode."""
    squares = (pairs**2).sum(axis=1)
    distance = squares[:, None] - 2.0 * pairs @ pairs.T + squares[None]
    distance[episode[:, None] == episode[None]] = np.inf
    return float((is_end[distance.argmin(axis=1)] == is_end).mean())


def _episode(data: Dataset, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(data.starts, rows, side="right") - 1)
