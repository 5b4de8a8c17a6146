"""The linear recursions behind the metrics, M = R + γ·E[M(next, next)], solved three ways.

  doubling   M = R + γ P M Pᵀ, both sides moving independently under one P
  krylov     M = R + γ/A Σ_a P_a M P_aᵀ, both sides moving under the same random action
  sweeps     either of them by plain iteration: the check, and what the other two are measured against

The doubling follows from reading the solution as a series, M = Σ_t γ^t P^t R (P^t)ᵀ. With D_k the sum of its first
2^k terms, the next 2^k terms are the first ones moved on by 2^k steps:

    D_{k+1} = D_k + γ^(2^k) P_k D_k P_kᵀ,     P_{k+1} = P_k²,     P_k = P^(2^k).

Twelve rounds sum 4,096 terms. The same trick has nothing to hold on to when several congruences are added: the
square of M ↦ Σ_a P_a M P_aᵀ has A² terms, and the next one A⁴. That recursion is still a linear system in the S²
entries of M, (I − γ/A Σ_a P_a ⊗ P_a) M = R, and BiCGSTAB solves it from products alone, 12 to 200 of them at
γ = 0.99 (sparse walks need the most). GMRES was tried too: its long recurrences cost more than the products do.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, bicgstab

from ropeval.runtime import float64
from ropeval.tabular.mdp import Array

JAX_FROM = 384  # below this many rows, compiling for JAX costs more than NumPy's products (CPU)
SPARSE_BELOW = 0.05  # of the entries; toy-text worlds and gridworlds have a few next states at most


def uses_jax(rows: int) -> bool:
    return rows >= JAX_FROM


def rounds(gamma: float, largest: float, tol: float) -> int:
    """The least k for which what 2^k terms leave out, γ^(2^k)·max R/(1−γ), is at most tol."""
    k = 0
    while gamma ** (2**k) * largest > tol * (1.0 - gamma):
        k += 1
    return k


def doubling(R: Array, P: Array, gamma: float, tol: float = 1e-10, use_jax: bool | None = None) -> Array:
    """M = R + γ P M Pᵀ to within tol (and rounding), in about a dozen rounds of three products. [n, n]"""
    steps = rounds(gamma, float(np.abs(R).max()), tol)
    if not (uses_jax(len(R)) if use_jax is None else use_jax):
        for k in range(steps):
            R = R + gamma ** (2**k) * (P @ R @ P.T)
            P = P @ P if k + 1 < steps else P
        return R
    with float64():
        D, power = jnp.asarray(R), jnp.asarray(P)
        for k in range(steps):
            D = _add_moved(D, power, gamma ** (2**k))
            power = _square(power) if k + 1 < steps else power
        return np.array(D)


@jax.jit
def _add_moved(D: jax.Array, P: jax.Array, weight: float) -> jax.Array:
    return D + weight * (P @ D @ P.T)


@jax.jit
def _square(P: jax.Array) -> jax.Array:
    return P @ P


def krylov(R: Array, P_a: Array, gamma: float, tol: float = 1e-10) -> Array:
    """M = R + γ/A Σ_a P_a M P_aᵀ, P_a [A, S, S], by BiCGSTAB; polished by sweeps until the residual proves tol."""
    step = coupled_step(P_a, gamma)
    n = len(R)

    def matvec(flat: Array) -> Array:
        M = flat.reshape(n, n)
        left_over: Array = (M - step(M)).reshape(-1)
        return left_over

    operator = LinearOperator((n * n, n * n), matvec=matvec, dtype=np.float64)
    # γ contracts in the largest entry, so ‖M − M*‖∞ ≤ ‖residual‖∞ / (1−γ), and ‖·‖∞ ≤ ‖·‖₂.
    wanted = 0.5 * tol * (1.0 - gamma)
    flat, _ = bicgstab(operator, R.reshape(-1), rtol=0.0, atol=wanted, maxiter=500)
    if not np.isfinite(flat).all():  # a breakdown of the recurrence; the sweeps below then start from zero
        flat = np.zeros(n * n)
    M = np.maximum(flat.reshape(n, n), 0.0)  # the solution is ≥ 0: clipping only brings M nearer
    return sweeps(R, step, gamma, start=0.5 * (M + M.T), tol=tol)


def coupled_step(P_a: Array, gamma: float) -> Callable[[Array], Array]:
    """M ↦ γ/A Σ_a P_a M P_aᵀ: sparse products, or dense ones on JAX's default device where they are worth it."""
    weight = gamma / len(P_a)
    if np.count_nonzero(P_a) < SPARSE_BELOW * P_a.size:
        sparse = [csr_array(P) for P in P_a]
        return lambda M: weight * np.asarray(sum((P @ (P @ M).T).T for P in sparse))
    if not uses_jax(P_a.shape[1]):
        transposed = P_a.transpose(0, 2, 1)
        return lambda M: weight * np.asarray((P_a @ M @ transposed).sum(axis=0))
    with float64():
        on_device = jnp.asarray(P_a)

    def step(M: Array) -> Array:
        with float64():
            return np.asarray(_coupled(on_device, jnp.asarray(M), weight))

    return step


@jax.jit
def _coupled(P_a: jax.Array, M: jax.Array, weight: float) -> jax.Array:
    total = jnp.zeros_like(M)
    for P in P_a:  # few actions: an unrolled loop keeps one [S, S] temporary instead of A
        total = total + P @ M @ P.T
    return weight * total


def sweeps(
    R: Array, step: Callable[[Array], Array], gamma: float, start: Array | None = None, tol: float = 1e-10
) -> Array:
    """Plain iteration M ← R + step(M) until the last change proves ‖M − M*‖∞ ≤ tol."""
    M = np.zeros_like(R) if start is None else np.asarray(start, dtype=np.float64)
    if gamma == 0.0:
        return R.copy()
    after = R + step(M)
    change = float(np.abs(after - M).max())
    # Contraction says how many sweeps must do; rounding could keep the last change above its goal for ever.
    most = math.ceil(math.log(max(change / (tol * (1.0 - gamma)), 1.0)) / -math.log(gamma)) + 1
    for _ in range(most):
        if change * gamma <= tol * (1.0 - gamma):
            break
        M, after = after, R + step(after)
        change = float(np.abs(after - M).max())
    return after
