"""The flow that an occupancy ratio must balance: all that goes over every row of a log, compiled, block by block.

Features are made in single precision when a block comes by, and not kept: memory does not grow with the log. Their
moments are nearly singular, and sums in single precision would decide the smallest directions by their rounding. So
products and sums are in double precision, on an accelerator, too. What is solved with them is small, and NumPy's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
        return _summed(_add_second, np.zeros((size, size)), self.basis, _pairs(self.log), self.held[rows], weight[rows])

    def values(self, kappa: Floats) -> Floats:
        """φ·κ of every row, [n]."""
        places, room = np.arange(len(self.held)), np.zeros(self.log.size + BLOCK)
        return _summed(_put_values, room, (self.basis, kappa), _pairs(self.log), self.held, places)[: len(places)]


def make_flow(transitions: Transitions, basis: Basis, gamma: float, counts: Integers) -> Flow:
    """`counts` [E]: how often the member's log holds each episode."""
    every = np.repeat(counts, np.diff(np.asarray(transitions.starts)))  # [N]
    held = np.flatnonzero(every)
    share = every[held] / max(every.sum(), 1)
    size = len(basis.constant)
    A = _summed(_add_flow, np.zeros((size, size)), basis, _rows(transitions), held, share)
    return Flow(transitions, basis, held, share, A, (1.0 - gamma) * initial_mean(transitions, basis, counts))


def initial_mean(log: Transitions, basis: Basis, counts: Integers) -> Floats:
    """E φ(s₀, a₀), [d]."""
    held = np.flatnonzero(counts)
    share = counts[held] / max(counts.sum(), 1)
    return _summed(_add_initial, np.zeros(len(basis.constant)), basis, _initial(log), held, share)


def imbalance(flow: Flow, probes: Basis, gamma: float, zeta: Floats, counts: Integers) -> float:
    """Rms over functions g of E_D[ ζ(g − γg') ]/(1−γ) − E[g(s₀, a₀)], in units of the spread of g over the log.

    With g = q this is the error of the estimate.
    """
    nothing, weights = np.zeros((3, len(probes.constant))), (flow.share, flow.share * zeta)
    mean, square, flowing = _summed(_add_balance, nothing, probes, _rows(flow.log), flow.held, *weights)
    balance = flowing / (1.0 - gamma) - initial_mean(flow.log, probes, counts)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = spread > 1e-6
    return float(np.sqrt(np.mean((balance[varies] / spread[varies]) ** 2))) if varies.any() else 0.0


# --- over the rows ----------------------------------------------------------------------------------------------

# A tree of arrays that lie on the device, or of a log that it cannot hold what reads some of its rows.
Source = Any


def _rows(log: Transitions) -> Source:
    return log.block if log.streamed else log.rows._replace(own=None)


def _pairs(log: Transitions) -> Source:
    return log.logged if log.streamed else log.rows.x


def _initial(log: Transitions) -> Source:
    x, weight = log.initial_x, log.initial_weight
    if not log.streamed:
        return x, weight
    return lambda part: (log.initial_block(part), None if weight is None else np.asarray(weight)[part])


def _summed(
    add: Callable[..., Array], total: Floats, given: Any, source: Source, rows: Integers, *own: Floats | Integers
) -> Floats:
    """`add(total, given, block of the source, *own of its rows)`, from block to block of some rows [n]."""
    with float64():
        so_far, given = jax.device_put((total, given))
        if not callable(source):
            return np.asarray(_add_blocks(add, so_far, given, source, *_in_blocks(source, rows, own)))
        for first in range(0, len(rows), BLOCK):
            some = slice(first, first + BLOCK)
            block = source(rows[some]), *(each[some] for each in own)
            so_far = _add_block(add, so_far, given, *_filled(block, _length(len(rows))))
        return np.asarray(so_far)


def _length(rows: int) -> int:
    """Of a block: programs are made for a few lengths, not for every log's."""
    return min(BLOCK, 1 << max(0, rows - 1).bit_length())


def _filled(tree: Any, length: int) -> Any:
    """With rows of zeros, which weigh nothing."""
    return jax.tree.map(lambda a: np.pad(a, [(0, length - len(a))] + [(0, 0)] * (a.ndim - 1)), tree)


def _in_blocks(source: Source, rows: Integers, own: Sequence[Any]) -> tuple[Any, Any]:
    """[B, length] rows and what is theirs, with room for all rows of the log, and how many blocks are taken."""
    size = len(jax.tree.leaves(source)[0])
    length = _length(size)
    blocks = -(-size // length)
    tree = _filled((rows.astype(np.int32), *own), blocks * length)
    return jax.tree.map(lambda a: a.reshape(blocks, length), tree), np.int32(-(-len(rows) // length))


@partial(jax.jit, static_argnums=0)
def _add_block(add: Callable[..., Array], total: Array, given: Any, *block: Any) -> Array:
    return add(total, given, *block)


@partial(jax.jit, static_argnums=0)
def _add_blocks(add: Callable[..., Array], total: Array, given: Any, source: Any, blocks: Any, taken: Array) -> Array:
    def one(i: Array, so_far: Array) -> Array:
        rows, *own = (each[i] for each in blocks)
        return add(so_far, given, jax.tree.map(lambda a: a[rows], source), *own)

    return jax.lax.fori_loop(0, taken, one, total)


def _less_following(phi: Array, rows: Rows, basis: Basis) -> Array:
    """φ(x) − γ·E φ(x') of some rows, [n, d]."""
    following = expected(basis(rows.next_x), rows.next_weight)
    return phi - rows.discount.astype(jnp.float64)[:, None] * following


def _add_flow(total: Array, basis: Basis, rows: Rows, share: Array) -> Array:
    phi = basis(rows.x).astype(jnp.float64)
    return total + (share[:, None] * phi).T @ _less_following(phi, rows, basis)


def _add_second(total: Array, basis: Basis, x: Array, weight: Array) -> Array:
    phi = basis(x).astype(jnp.float64)
    return total + (weight[:, None] * phi).T @ phi


def _add_initial(total: Array, basis: Basis, asked: tuple[Array, Array | None], share: Array) -> Array:
    x, weight = asked
    return total + share @ expected(basis(x), weight)


def _add_balance(total: Array, basis: Basis, rows: Rows, share: Array, weight: Array) -> Array:
    g = basis(rows.x).astype(jnp.float64)
    return total + jnp.stack([share @ g, share @ g**2, weight @ _less_following(g, rows, basis)])


def _put_values(values: Array, given: tuple[Basis, Array], x: Array, places: Array) -> Array:
    basis, kappa = given
    return jax.lax.dynamic_update_slice(values, basis(x) @ kappa, (places[0],))
