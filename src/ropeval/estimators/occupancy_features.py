"""Features of pairs for occupancy ratios: a table where pairs are few, random ones of a kernel where they are many."""

from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.arrays import Floats, Singles
from ropeval.data import Transitions
from ropeval.estimators.few_pairs import SAME, few_pairs
from ropeval.runtime import float64

GLANCED = 1000  # rows whose distances set the width of the kernel
LOOKED_AT = 4096  # rows whose pairs are counted at a time
MOST_CELLS = 300  # pairs in a table


class Basis(Protocol):
    def __call__(self, x: Array) -> Array:
        """[…, d] of pairs […, X]. Within `float64`: a table tells pairs apart by differences of 1e-9."""
        ...

    @property
    def constant(self) -> Floats:
        """[d] of length one, in whose direction φ is the same for every pair."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Table:
    """One feature per pair. A random projection tells pairs apart; cells are cut half-way between its values."""

    direction: Any  # [X] float64
    cuts: Any  # [cells − 1] float64

    def __call__(self, x: Array) -> Array:
        cells = jnp.searchsorted(self.cuts, x.astype(jnp.float64) @ self.direction)
        return jax.nn.one_hot(cells, len(self.cuts) + 1, dtype=jnp.float32)

    @property
    def constant(self) -> Floats:
        cells = len(self.cuts) + 1
        return np.full(cells, 1.0 / np.sqrt(cells))


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """1, and cos and sin of random frequencies: their products are those of the Gaussian kernel, on average."""

    frequencies: Any  # [X, D/2] float32

    def __call__(self, x: Array) -> Array:
        angles = jnp.matmul(x, self.frequencies, precision=jax.lax.Precision.HIGHEST)
        size = np.float32(1.0 / np.sqrt(self.frequencies.shape[1]))
        ones = jnp.ones((*x.shape[:-1], 1), jnp.float32)
        return jnp.concatenate([ones, size * jnp.cos(angles), size * jnp.sin(angles)], axis=-1)

    @property
    def constant(self) -> Floats:
        return np.append(1.0, np.zeros(2 * self.frequencies.shape[1]))


def table(transitions: Transitions) -> Table | None:
    """Of all pairs that the log or the policy knows; None where they are too many."""
    blocks = transitions.blocks([*range(0, transitions.size, LOOKED_AT), transitions.size])
    every = chain([transitions.initial_block()], (part for rows in blocks for part in rows[:2]))
    few = few_pairs(every, transitions.dim, MOST_CELLS)
    return None if few is None else Table(few.direction, (few.known[1:] + few.known[:-1]) / 2.0)


def random_features(
    transitions: Transitions, features: int, bandwidth: float, rng: np.random.Generator
) -> RandomFeatures:
    every = max(1, transitions.size // GLANCED)
    x = transitions.block(slice(None, None, every)).x.astype(np.float64)  # [n, X]
    scale = x.std(axis=0)
    if transitions.code:
        scale[-transitions.code :] = 1.0  # two different actions are as far apart as two states, whatever is rare
    scale[scale < SAME] = 1.0
    x = x / scale
    apart = np.linalg.norm(x - x[rng.permutation(len(x))], axis=1)
    width = bandwidth * (float(np.median(apart[apart > 0.0])) if (apart > 0.0).any() else 1.0)
    draws = rng.standard_normal((len(scale), max(1, features // 2)))
    return RandomFeatures((draws / (width * scale[:, None])).astype(np.float32))


def features_of(basis: Basis, x: Singles) -> Singles:
    """[…, d] of pairs […, X] on the host."""
    with float64():
        return np.asarray(_apply(basis, x))


@jax.jit
def _apply(basis: Any, x: Array) -> Array:
    return basis(x)
