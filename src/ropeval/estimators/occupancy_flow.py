"""The flow that an occupancy ratio must balance: all that goes over every row of a log, compiled, block by block.

Features are made in single precision when a block comes by, and not kept: memory does not grow with the log. Their
moments are nearly singular, and sums in single precision would decide the smallest directions by their rounding. So
products and sums are in double precision, on an accelerator, too. What is solved with them is small, and NumPy's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
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
    """All that a ratio is fitted to."""

    transitions: Transitions
    basis: Basis
    share: Floats  # [N] of the log that is each row's; sums to one
    A: Floats  # [d, d]
    b: Floats  # [d]

    @property
    def rows(self) -> int:
        return max(1, int(np.count_nonzero(self.share)))

    @cached_property
    def C(self) -> Floats:  # [d, d]
        return self.second(self.share)

    def second(self, weight: Floats) -> Floats:
        """Σ weight·φφᵀ, [d, d]; `weight` [N]."""
        size = len(self.b)
        blocks = self.transitions.logged_blocks(_bounds(self.transitions.size))
        return _summed(_add_second, np.zeros((size, size)), self.basis, blocks, weight)

    def values(self, kappa: Floats) -> Floats:
        """φ·κ of every row, [N]."""
        bounds = _bounds(self.transitions.size)
        with float64():
            given = jax.device_put((self.basis, kappa))
            blocks = self.transitions.logged_blocks(bounds)
            found = [_values(*given, _filled(x, bounds)) for x in blocks]
            return np.concatenate([np.asarray(part) for part in found])[: self.transitions.size]


def make_flow(transitions: Transitions, basis: Basis, gamma: float, counts: Integers) -> Flow:
    """`counts` [E]: how often the member's log holds each episode."""
    share = np.repeat(counts, np.diff(np.asarray(transitions.starts))).astype(np.float64)
    share /= max(share.sum(), 1.0)
    size = len(basis.constant)
    A = _summed(_add_flow, np.zeros((size, size)), basis, transitions.blocks(_bounds(transitions.size)), share)
    return Flow(transitions, basis, share, A, (1.0 - gamma) * initial_mean(transitions, basis, counts))


def initial_mean(transitions: Transitions, basis: Basis, counts: Integers) -> Floats:
    """E φ(s₀, a₀), [d]."""
    bounds, weight = _bounds(len(counts)), transitions.initial_weight
    weight = None if weight is None else np.asarray(weight)
    parts = [slice(first, last) for first, last in pairwise(bounds)]
    blocks = ((transitions.initial_block(part), None if weight is None else weight[part]) for part in parts)
    share = counts / max(counts.sum(), 1)
    return _summed(_add_initial, np.zeros(len(basis.constant)), basis, blocks, share)


def imbalance(
    transitions: Transitions, probes: Basis, gamma: float, share: Floats, weight: Floats, counts: Integers
) -> float:
    """Rms over functions g of E_D[ ζ(g − γg') ]/(1−γ) − E[g(s₀, a₀)], in units of the spread of g over the log.

    With g = q this is the error of the estimate. `share` and `weight` [N]: of the log, and the same times ζ.
    """
    blocks, nothing = transitions.blocks(_bounds(transitions.size)), np.zeros((3, len(probes.constant)))
    mean, square, flow = _summed(_add_balance, nothing, probes, blocks, share, weight)
    balance = flow / (1.0 - gamma) - initial_mean(transitions, probes, counts)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = spread > 1e-6
    return float(np.sqrt(np.mean((balance[varies] / spread[varies]) ** 2))) if varies.any() else 0.0


# --- over the rows ----------------------------------------------------------------------------------------------


def _bounds(rows: int) -> list[int]:
    return [*range(0, rows, BLOCK), rows]


def _summed(add: Callable[..., Array], total: Floats, basis: Basis, blocks: Iterable[Any], *weights: Floats) -> Floats:
    """`add(total, basis, block, *weights)` from block to block; `weights` [N] each."""
    bounds = _bounds(len(weights[0]))
    with float64():
        given, so_far = jax.device_put(basis), jax.device_put(total)
        for first, block in zip(bounds, blocks, strict=False):
            own = [weight[first : first + BLOCK] for weight in weights]
            so_far = add(so_far, given, *_filled((block, *own), bounds))
        return np.asarray(so_far)


def _filled(block: Any, bounds: list[int]) -> Any:
    """With rows of zeros, which weigh nothing: programs are made for a few lengths of blocks, not for every log's."""
    length = min(BLOCK, 1 << (bounds[-1] - 1).bit_length())

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
