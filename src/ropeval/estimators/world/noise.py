"""Noise as the log shows it where one is: which residuals a step may be given.

A machine that is worn may break, a new one hardly; who is cured stays cured; what is put at risk can be lost. One pool
of residuals for all would break new machines, too. So rows are divided by one question after the other ("is this column
at most that?"), as long as residuals on both sides are unlike each other: the normal likelihood of those in one half of
the log is gained by the split that is best in the other. A step draws from the residuals that its own answers lead to.

Questions are asked about state and action, and about the values that choices have just taken: a price that falls in the
step in which a flag goes up has to know of the flag.

A pool's mean that may be luck is taken away, since it would add up over a rollout. One that is not stays: it is
what the networks get wrong there, or what goes along with a choice.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.estimators.world.units import Units

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64]
POOL = 8192  # residuals kept to draw from
QUESTIONS = 6  # at most, one after the other
NODES = 2 ** (QUESTIONS + 1) - 1
NOTHING = -1
BINS = 32  # of a column, between which it may be divided
FEWEST = 32  # rows of either half on either side of a question
SURE = 2.0  # standard errors by which the likelihood must gain
LUCK = 3.0  # standard errors up to which a pool's mean is none
LEAST = 1e-3  # of a residual's variance: less is not told from nothing
TARGETS = 12  # columns by whose residuals rows are divided, those with the most left


class Tree(NamedTuple):
    """Node 0 is the first question; the answers of node k lead to 2k + 1 (at most `limit`) and 2k + 2."""

    column: Any  # [NODES] which feature is asked about; NOTHING: that is where it ends
    limit: Any  # [NODES]


class Noise(NamedTuple):
    """Residuals, ordered by where the questions lead. Of one group, or with an axis more of all of them: every member's
    own, and those of the joint prediction."""

    tree: Tree
    residuals: Any  # [P, D] zeros where a change is not noisy
    first: Any  # [NODES] where the pool of a node begins, and
    count: Any  # [NODES] how many it holds

    def of(self, groups: Any) -> "Noise":
        """Of one of them, or of some; -1: of the joint prediction."""
        return Noise(*jax.tree.map(lambda each: each[groups], tuple(self)))


def features(units: Units, x: Array, following: Array) -> Array:
    """[F] what can be asked about a step: its pair [X], and of the next state the columns that are choices."""
    columns = units.chosen_columns
    if not columns:
        return x
    drawn = (following - units.state_mean) / units.state_std
    return jnp.concatenate([x, drawn[jnp.array(columns)]])


def draw(noise: Noise, key: Array, asked: Array) -> Array:
    """A residual [D] for one step with these features [F]; `noise` of one group."""
    if len(noise.residuals) == 1:  # `silent`: nothing to ask, nothing to draw, and half of the rollouts' program less
        return jnp.asarray(noise.residuals[0])
    node = jnp.int32(0)
    for _ in range(QUESTIONS):
        column = noise.tree.column[node]
        below = asked[column] <= noise.tree.limit[node]
        node = jnp.where(column == NOTHING, node, jnp.where(below, 2 * node + 1, 2 * node + 2))
    within = jax.random.randint(key, (), 0, noise.count[node])
    return jnp.asarray(noise.residuals[noise.first[node] + within])


def silent(groups: int, columns: int) -> Noise:
    """Nothing is left to chance."""
    begin = np.zeros(NODES, np.int32)
    return _together([Noise(_one_node(), np.zeros((1, columns), np.float32), begin, begin + 1)] * groups)


def make_noise(
    asked: Floats, joint: Floats, own: Floats, unseen: NDArray[np.bool_], noisy: NDArray[np.bool_], half: Places
) -> Noise:
    """From rows [n]: features [n, F], residuals of the joint prediction [n, D] and of every member [M, n, D], which of
    them each has not seen [M, n], which columns are noisy [D], and in which half of the log a row lies, 0 or 1."""
    new = [np.flatnonzero(each) if each.any() else np.arange(len(asked)) for each in unseen]
    groups = [(one[rows], rows) for one, rows in zip(own, new, strict=True)] + [(joint, np.arange(len(asked)))]
    return _together([_of_group(asked[rows], residual * noisy, half[rows]) for residual, rows in groups])


def _of_group(asked: Floats, residual: Floats, half: Places) -> Noise:
    left = (residual.astype(np.float64) ** 2).mean(axis=0)
    targets = np.argsort(-left, kind="stable")[: min(TARGETS, int((left > 0.0).sum()))]
    tree = grow(asked.astype(np.float64), residual[:, targets].astype(np.float64), half)
    return Noise(tree, *_pooled(residual, where(tree, asked)))


def _together(groups: Sequence[Noise]) -> Noise:
    return Noise(*jax.tree.map(lambda *each: np.stack(each), *map(tuple, groups)))


def _one_node() -> Tree:
    return Tree(np.full(NODES, NOTHING, np.int32), np.zeros(NODES, np.float32))


def where(tree: Tree, asked: Floats) -> Places:
    """[n] the nodes at which rows with these features [n, F] end."""
    node = np.zeros(len(asked), np.int64)
    for _ in range(QUESTIONS):
        column = tree.column[node]
        below = asked[np.arange(len(asked)), column] <= tree.limit[node]
        node = np.where(column == NOTHING, node, 2 * node + 2 - below)
    return node


def _pooled(residual: Floats, node: Places) -> tuple[Floats, Places, Places]:
    """Ordered by node, without means that may be luck; as many as there is room for, and zeros after them."""
    every = -(-len(node) // POOL)
    order = np.argsort(node, kind="stable")[::every]
    count = np.bincount(node[order], minlength=NODES)
    first = np.cumsum(count) - count
    pool = np.zeros((POOL, residual.shape[1]), np.float32)
    for begin, size in zip(first, count, strict=True):
        some = residual[order[begin : begin + size]].astype(np.float64)
        if size:
            mean, error = some.mean(axis=0), some.std(axis=0) / np.sqrt(size)
            pool[begin : begin + size] = some - np.where(np.abs(mean) <= LUCK * error, mean, 0.0)
    return pool, first.astype(np.int32), np.maximum(count, 1).astype(np.int32)


# --- growing --------------------------------------------------------------------------------------------------


def grow(asked: Doubles, residual: Doubles, half: Places) -> Tree:
    """Rows with features [n, F], divided so that residuals [n, K] on both sides are unlike each other."""
    tree = _one_node()
    if not residual.shape[1]:
        return tree
    edges = np.quantile(asked, np.arange(1, BINS) / BINS, axis=0).T.astype(np.float32)  # [F, BINS - 1]
    places = np.stack([np.searchsorted(own, column) for own, column in zip(edges, asked.T, strict=True)], axis=1)
    least = LEAST * residual.var(axis=0) + 1e-12
    rows_of = {0: np.arange(len(asked))}
    for node in range(2**QUESTIONS - 1):  # those whose answers have a place
        rows = rows_of.pop(node, None)
        if rows is None:
            continue
        learns, told = rows[half[rows] == 0], rows[half[rows] == 1]
        found = _best(places[learns], residual[learns], places[told], least)
        if found is None:
            continue
        column, place = found
        below = places[:, column] <= place
        if not _gains(residual[learns], below[learns], residual[told], below[told], least):
            continue
        sides = rows[below[rows]], rows[~below[rows]]
        between = asked[sides[0], column].max(), asked[sides[1], column].min()
        tree.column[node], tree.limit[node] = column, np.mean(between)  # what is rounded otherwise stays on its side
        rows_of[2 * node + 1], rows_of[2 * node + 2] = sides
    return tree


def _best(places: Places, residual: Doubles, others: Places, least: Doubles) -> tuple[int, int] | None:
    """Feature and bin after which the likelihood gains most; None where no side would have enough rows."""

    def below(places: Places, weights: Doubles | None = None) -> Doubles:
        """[F, BINS - 1] sums over the rows up to each bin."""
        features_ = places.shape[1]
        flat = (places + BINS * np.arange(features_)).ravel()
        each = None if weights is None else np.repeat(weights, features_)
        return np.bincount(flat, each, BINS * features_).reshape(features_, BINS).cumsum(axis=1)[:, :-1]

    count, also = below(places), below(others)
    enough = np.minimum(np.minimum(count, len(places) - count), np.minimum(also, len(others) - also)) >= FEWEST
    if not enough.any():
        return None
    gain = np.zeros(count.shape)
    for k, own in enumerate(residual.T):
        first, second = below(places, own), below(places, own**2)
        sides = (count, first, second), (len(places) - count, own.sum() - first, (own**2).sum() - second)
        for size, one, two in sides:
            size = np.maximum(size, 1)
            gain -= size * np.log(np.maximum(two / size - (one / size) ** 2, least[k]))
    best = int(np.where(enough, gain, -np.inf).argmax())
    return best // (BINS - 1), best % (BINS - 1)


def _gains(
    learned: Doubles, below: NDArray[np.bool_], told: Doubles, told_below: NDArray[np.bool_], least: Doubles
) -> bool:
    """Whether those of the other half, too, are likelier when divided."""

    def cost(some: Doubles, of: Doubles) -> Doubles:
        """[n] minus twice the log likelihood, of residuals `some`, as the residuals `of` are."""
        variance = np.maximum(of.var(axis=0), least)
        return (np.log(variance) + (some - of.mean(axis=0)) ** 2 / variance).sum(axis=1)

    gained = cost(told, learned)
    for side, told_side in ((below, told_below), (~below, ~told_below)):
        gained[told_side] -= cost(told[told_side], learned[side])
    return bool(gained.sum() > SURE * np.sqrt(len(gained)) * gained.std())
