"""Whether the one whole number of a state names it or counts something, as the log itself shows.

Leave a number out, and guess from the two beside it what happens there: what is earned, whether the episode ends, how
the number changes. Of a quantity (a queue, a stock, the number of infected) the guess comes near. Of a name (a cell of
a grid, a page) it is no better than one from all numbers together, if not for every action, then for some: whoever
walks right along a row of cells meets a wall after so many.

So two squared errors are compared, that of the guess from the neighbours and that from all, both less what chance adds
to them. A quantity must halve the error of reward or ending beyond doubt, and must nowhere fail to do so beyond doubt.
Where nothing depends on the number, or too little is logged to tell, it stays a name: names that are taken for a
quantity mislead more than a quantity whose every value is learned by itself.
"""

from typing import NamedTuple

import numpy as np

from ropeval.arrays import AnyArray, Floats, Integers

ROWS = 200_000  # looked at: more would change no answer
FEWEST = 5  # numbers in a row: at either end of the count something else may happen to a quantity, too (none can leave
# an empty queue), so that the outermost two are neighbours only
ENOUGH = 30  # rows, beyond which a number has no more say: one that is met all the time should not decide alone
SHARE = 0.5  # of the error that neighbours must spare: names in a random order spare less than none, quantities most
SURE, DENIED = 2.0, 3.0  # standard errors; one of a dozen signs may well deny by chance what is so
TOLD = 0.01  # of an outcome's variance, by the number, before it can speak for names: how seldom all of the infected
# recover at once falls too steeply from number to number for a guess, and hardly matters
LEAST = 1e-6  # of an outcome's variance; below it is rounding


class _Means(NamedTuple):
    """What happens at some numbers, in their order."""

    numbers: Floats  # [K]
    rows: Integers  # [K]
    mean: Floats  # [K]
    noise: Floats  # [K] variance of the mean
    spread: float  # variance of what happens, at all numbers together


def is_quantity(
    numbers: AnyArray, following: AnyArray, rewards: AnyArray, ends: AnyArray, actions: AnyArray | None
) -> bool:
    """Of columns [n]; `actions` are discrete, or None."""
    rows = _some_rows(len(numbers))
    here, after, earned, ended = (np.asarray(c[rows], np.float64) for c in (numbers, following, rewards, ends))
    groups = [np.zeros(len(rows), np.int64)]  # all actions together tell most of a small log
    groups += [] if actions is None else [np.asarray(actions[rows], np.int64)]
    stays = np.asarray(after == here, np.float64)
    outcomes = (after - here, True), (stays, True), (earned, False), (ended, False)
    signs = [
        sign
        for outcome, change in outcomes
        if outcome.std() > 0
        for group in groups
        for means in _by_number(here, group, outcome / outcome.std())
        if (sign := _jagged(means, change)) is not None
    ]
    return min(signs, default=0.0) < -SURE and max(signs) < DENIED


def _some_rows(count: int) -> Integers:
    """One of every so many, by chance: at even distances they might all be the first steps of their episodes."""
    each = -(-count // ROWS)
    return np.arange(count // each) * each + np.random.default_rng(0).integers(0, each, count // each)


def _by_number(here: Floats, group: Integers, outcome: Floats) -> list[_Means]:
    """Of every group, those of the numbers that it has twice or more."""
    kinds, place = np.unique(here, return_inverse=True)
    cell, shape = group * len(kinds) + place, (int(group.max()) + 1, len(kinds))
    rows = np.bincount(cell, minlength=shape[0] * shape[1])
    mean = np.bincount(cell, outcome, len(rows)) / np.maximum(rows, 1)
    noise = np.bincount(cell, (outcome - mean[cell]) ** 2, len(rows)) / np.maximum(rows * (rows - 1), 1)
    tables = rows.reshape(shape), mean.reshape(shape), noise.reshape(shape)
    return [
        _Means(kinds[seen], n[seen], m[seen], v[seen], float(outcome[group == g].var()))
        for g, (n, m, v) in enumerate(zip(*tables, strict=True))
        if (seen := n > 1).sum() >= FEWEST
    ]


def _jagged(means: _Means, change: bool) -> float | None:
    """By how many standard errors the neighbours' guess fails to spare its share; None where numbers tell too little.

    A `change` of the number is guessed by a straight line instead of the mean: high numbers fall and low ones rise,
    whatever they stand for. And it speaks for names alone: down a grid every cell leads to the one so many further on.
    """
    x, own, noise = means.numbers, means.mean, means.noise
    weight = np.minimum(means.rows[1:-1], ENOUGH)
    weight = weight / weight.sum()
    near = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    beside = own[1:-1] - (1 - near) * own[:-2] - near * own[2:]
    besides_noise = noise[1:-1] + (1 - near) ** 2 * noise[:-2] + near**2 * noise[2:]
    apart = own[1:-1] - weight @ own[1:-1]
    if change:
        x = x[1:-1] - weight @ x[1:-1]
        apart = apart - x * (weight @ (x * apart)) / (weight @ x**2)
    left, left_variance = _squared(beside, besides_noise, weight)
    whole, whole_variance = _squared(apart, noise[1:-1], weight)
    if whole < max(LEAST, SURE * whole_variance**0.5):
        return None
    sign = float((left - SHARE * whole) / np.sqrt(left_variance + SHARE**2 * whole_variance + LEAST**2))
    return sign if (sign > 0 and whole > TOLD * means.spread) or (sign < 0 and not change) else None


def _squared(errors: Floats, noise: Floats, weight: Floats) -> tuple[float, float]:
    """Mean squared error without the noise in it, and the variance of that."""
    true = errors**2 - noise
    return float(weight @ true), float(weight**2 @ (2 * noise**2 + 4 * noise * np.maximum(true, 0)))
