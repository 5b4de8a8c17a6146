"""The flow that an occupancy ratio must balance: all that goes over every row of a log, compiled, block by block.

Features are made in single precision when a block comes by, and not kept: memory does not grow with the log. Their
moments are nearly singular, and sums in single precision would decide the smallest directions by their rounding. So
products and sums are in double precision, on an accelerator, too. What is solved with them is small, and NumPy's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.arrays import Floats, Integers
from ropeval.data import Rows, Transitions, expected
from ropeval.estimators.occupancy_features import Basis
from ropeval.runtime import float64

BLOCK = 4096  # rows whose features are made at a time


@dataclass(frozen=True, eq=False)
class Flow:
    """All that a ratio is fitted to: of the rows that the member's log holds, and no others."""

    log: Transitions
    basis: Basis
    held: Integers  # [n] the rows
    share: Floats  # [n] of the log that is each row's; sums to one
    A: Floats  # [d, d]
    b: Floats  # [d]

    @property
    def rows(self) -> int:
        return max(1, len(self.held))  # a resample may hold nothing but empty episodes

    @cached_property
    def C(self) -> Floats:  # [d, d]
        return self.second(self.share)

    def second(self, weight: Floats) -> Floats:
        """Σ weight·φφᵀ, [d, d]; rows whose `weight` [n] is zero cost nothing."""
        rows, size = np.flatnonzero(weight), len(self.b)
        blocks = (self.log.logged(part) for part in _parts(self.held[rows]))
        return _summed(_add_second, np.zeros((size, size)), self.basis, blocks, weight[rows])

    def values(self, kappa: Floats) -> Floats:
        """φ·κ of every row, [n]."""
        count = len(self.held)
        with float64():
            given = jax.device_put((self.basis, kappa))
            found = [_values(*given, _filled(self.log.logged(part), count)) for part in _parts(self.held)]
            return np.concatenate([np.zeros(0), *map(np.asarray, found)])[:count]


def make_flow(transitions: Transitions, basis: Basis, gamma: float, counts: Integers) -> Flow:
    """`counts` [E]: how often the member's log holds each episode."""
    every = np.repeat(counts, np.diff(np.asarray(transitions.starts)))  # [N]
    held = np.flatnonzero(every)
    share = every[held] / max(every.sum(), 1)
    log, size = transitions.of_member(), len(basis.constant)
    A = _summed(_add_flow, np.zeros((size, size)), basis, map(log.block, _parts(held)), share)
    return Flow(log, basis, held, share, A, (1.0 - gamma) * initial_mean(log, basis, counts))


def initial_mean(log: Transitions, basis: Basis, counts: Integers) -> Floats:
    """E φ(s₀, a₀), [d]."""
    held, weight = np.flatnonzero(counts), log.initial_weight
    weight = None if weight is None else np.asarray(weight)
    blocks = ((log.initial_block(part), None if weight is None else weight[part]) for part in _parts(held))
    return _summed(_add_initial, np.zeros(len(basis.constant)), basis, blocks, counts[held] / max(counts.sum(), 1))


def imbalance(flow: Flow, probes: Basis, gamma: float, zeta: Floats, counts: Integers) -> float:
    """Rms over functions g of E_D[ ζ(g − γg') ]/(1−γ) − E[g(s₀, a₀)], in units of the spread of g over the log.

    With g = q this is the error of the estimate.
    """
    blocks, nothing = map(flow.log.block, _parts(flow.held)), np.zeros((3, len(probes.constant)))
    mean, square, flowing = _summed(_add_balance, nothing, probes, blocks, flow.share, flow.share * zeta)
    balance = flowing / (1.0 - gamma) - initial_mean(flow.log, probes, counts)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = spread > 1e-6
    return float(np.sqrt(np.mean((balance[varies] / spread[varies]) ** 2))) if varies.any() else 0.0


# --- over the rows ----------------------------------------------------------------------------------------------


def _parts(rows: Integers) -> list[Integers]:
    return [rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK)]


def _summed(add: Callable[..., Array], total: Floats, basis: Basis, blocks: Iterable[Any], *weights: Floats) -> Floats:
    """`add(total, basis, block, *weights)` from block to block; `weights` [n] each."""
    count = len(weights[0])
    with float64():
        given, so_far = jax.device_put(basis), jax.device_put(total)
        for first, block in zip(range(0, count, BLOCK), blocks, strict=True):
            own = [weight[first : first + BLOCK] for weight in weights]
            so_far = add(so_far, given, *_filled((block, *own), count))
        return np.asarray(so_far)


def _filled(block: Any, rows: int) -> Any:
    """With rows of zeros, which weigh nothing: programs are made for a few lengths of blocks, not for every log's."""
    length = min(BLOCK, 1 << (rows - 1).bit_length())

    def fill(a: Any) -> Any:
        return a if len(a) == length else np.pad(a, [(0, length - len(a))] + [(0, 0)] * (a.ndim - 1))

    return jax.tree.map(fill, block)


def _less_following(phi: Array, rows: Rows, basis: Basis) -> Array:
    """φ(x) − γ·E φ(x') of some rows, [n, d]."""
    following = expected(basis(rows.next_x), rows.next_weight)
    return phi - rows.discount.astype(jnp.float64)[:, None] * following


@jax.jit
def _add_flow(total: Array, basis: Any, rows: Rows, share: Array) -> Array:
    phi = basis(rows.x).astype(jnp.float64)
    return total + (share[:, None] * phi).T @ _less_following(phi, rows, basis)


@jax.jit
def _add_second(total: Array, basis: Any, x: Array, weight: Array) -> Array:
    phi = basis(x).astype(jnp.float64)
    return total + (weight[:, None] * phi).T @ phi


@jax.jit
def _add_initial(total: Array, basis: Any, asked: tuple[Array, Array | None], share: Array) -> Array:
    x, weight = asked
    return total + share @ expected(basis(x), weight)


@jax.jit
def _add_balance(total: Array, basis: Any, rows: Rows, share: Array, weight: Array) -> Array:
    g = basis(rows.x).astype(jnp.float64)
    return total + jnp.stack([share @ g, share @ g**2, weight @ _less_following(g, rows, basis)])


@jax.jit
def _values(basis: Any, kappa: Array, x: Array) -> Array:
    return basis(x) @ kappa
