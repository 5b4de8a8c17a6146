"""Whether the observations are the whole state: if they are, what came before tells nothing about what surprises.

Two signs are read, both of rows that follow each other and that the members asked have not seen:

correlation   of what surprised at one step with what surprises at the next, column by column. A missing speed shows
              in it
foretold      the share of what surprises that the row before explains (its state, action and reward), by a linear fit
              on half of the episodes that is measured on the other half. Measurements that are noisy, or carried
              forward where none was taken, show in it: an earlier action has worked already, and is not yet seen.
              Rewards and columns that take few values are asked, too: who is weary of advertisements, or ill behind a
              test that errs, may show in nothing else

What the simulator has not learned of the row itself, the row before could tell, too, since it leads there. So state and
action of the row itself are part of the fit with all their products, and only what is gained beyond that counts: more
than four standard errors, over episodes. And a column of which little is left is not asked: that is mostly what has not
been learned.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset

Doubles = NDArray[np.float64]
LEFT = 0.2  # of a column's variance that the simulator does not foresee, from which on it is asked what would tell it
SURE = 4.0  # standard errors
PRODUCTS = 12  # columns of state and action, up to which all their products are part of the fit; then squares alone
RIDGE = 1.0  # as much as one row weighs: it only makes columns that are copies solvable
LEAST = 1e-12
STRETCH = 50  # rows that are looked at in a row


REWARD = -1  # in the place of a column


class Memory(NamedTuple):
    """How far the past tells what no state shows. Of a whole state, nothing does."""

    correlation: float = 0.0  # the largest among the columns that are drawn with noise
    column: int | None = None
    foretold: float = 0.0  # share of what surprises, of these, of choices, and of the reward
    foretold_column: int | None = None


def rows_in_a_row(dataset: Dataset, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """So many rows, as stretches of a log; and the places of those after which the next of them comes in the same
    episode, which goes on after both."""
    stretches = -(-count // STRETCH)
    length = count // stretches
    begin = np.linspace(0, len(dataset) - length, stretches).astype(np.int64)
    rows = np.resize(begin[:, None] + np.arange(length), count)  # a few once more, where they do not fill it
    ends = np.zeros(len(dataset), bool)
    ends[dataset.last_rows] = True
    follows = (np.diff(rows) == 1) & ~ends[rows[:-1]] & ~dataset.terminations[rows[1:]]
    return rows, np.flatnonzero(follows)


def remembered(
    surprises: Doubles,
    drawn: int,
    columns: Sequence[int],
    past: Doubles,
    pairs: Doubles,
    before: NDArray[np.int64],
    episode: NDArray[np.int64],
) -> Memory:
    """From rows [n]: `surprises` [n, K] of `columns` [K], in shares of what there is to foresee, of which the first
    `drawn` are drawn as noise; all that a row shows, `past` [n, B]; `pairs` [n, X] of state and action."""
    found, surprise = Memory(), surprises[before + 1]
    if drawn:
        both = zip(surprises[before, :drawn].T, surprise[:, :drawn].T, strict=True)
        correlation = np.abs([np.corrcoef(*each)[0, 1] for each in both])
        worst = int(np.argmax(correlation))
        found = Memory(float(correlation[worst]), columns[worst])
    asked = np.flatnonzero((surprise**2).mean(axis=0) > LEFT)
    if not len(asked):
        return found
    told = foretold_by(past[before], pairs[before + 1], surprise[:, asked], episode[before])
    most = int(np.argmax(told))
    return found._replace(foretold=float(told[most]), foretold_column=columns[int(asked[most])])


def foretold_by(before: Doubles, now: Doubles, surprise: Doubles, episode: NDArray[np.int64]) -> Doubles:
    """[D] shares of `surprise` [n, D] that rows `before` [n, B] explain beyond the rows `now` [n, X]; 0 where that may
    be luck."""
    plain = _left_by(_bent(now), surprise, episode)
    gained = plain - _left_by(np.concatenate([_bent(now), before], axis=1), surprise, episode)
    number = np.unique(episode, return_inverse=True)[1]
    of_episode = np.stack([np.bincount(number, column) for column in gained.T], axis=1)  # [E, D]
    sure = gained.sum(axis=0) > SURE * np.sqrt(len(of_episode)) * of_episode.std(axis=0)
    return np.where(sure, gained.sum(axis=0) / np.maximum(plain.sum(axis=0), LEAST), 0.0)


def _bent(x: Doubles) -> Doubles:
    """With products, so that what is bent is not taken for what came before."""
    if x.shape[1] > PRODUCTS:
        return np.concatenate([x, x**2], axis=1)
    one, other = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, one] * x[:, other]], axis=1)


def _left_by(x: Doubles, y: Doubles, episode: NDArray[np.int64]) -> Doubles:
    """[n, D] squared errors of a linear fit that has seen every other episode, in those that it has not."""
    std = x.std(axis=0)
    x = np.concatenate([np.ones((len(x), 1)), (x - x.mean(axis=0)) / np.where(std > 0.0, std, 1.0)], axis=1)
    even, left = episode % 2 == 0, np.zeros_like(y)
    for learns, told in ((even, ~even), (~even, even)):
        square = x[learns].T @ x[learns] + RIDGE * np.eye(x.shape[1])
        left[told] = (y[told] - x[told] @ np.linalg.solve(square, x[learns].T @ y[learns])) ** 2
    return left
