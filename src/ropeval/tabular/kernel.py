"""KROPE on arrays: a kernel of state-action pairs under the evaluation policy, and what least squares makes of it.

    k(x, y) = 1 − |r(x) − r(y)|/(r_max − r_min) + γ E[k(x', y')],   a₁', a₂' ~ π_e independently

On the n pairs of states that do not end, with P [n, n] the chain of π_e on them (what ends leaves it: its rows sum to
less than one), this is K = R + γ P K Pᵀ. R is positive semidefinite, since on an interval of length one
1 − |u − v| = min(u, v) + min(1 − u, 1 − v). So K is, too, and K = ΦΦᵀ for features Φ, one row per pair. Then:

    K ⪰ γ (PΦ)(PΦ)ᵀ,   so   PΦ = ΦM   for some M with ‖M‖₂ ≤ 1/√γ,   and every function of the reward is linear in Φ.

That is Bellman completeness: q is linear in Φ, and LSPE's iteration matrix is γM if the log holds every pair, with a
spectral radius of at most γ. Where it does not, and only then does it matter that Φ factorises K and does not just span
the same functions, the radius is at most √γ: the pseudo-inverse projects orthogonally, and ‖γM‖₂ ≤ √γ.

A state that ends has no features. If it had, as a pair that goes on for ever with reward 0, the kernel would count
what LSPE does not: PΦ would leave the span of Φ, and the proof would not hold.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropeval.tabular.mdp import Array, TabularMDP
from ropeval.tabular.recursion import doubling, sweeps
from ropeval.tabular.solve import pair_chain

RANK_CUTOFF = 1e-11  # of the largest eigenvalue of a kernel: below it is rounding


@dataclass(frozen=True, eq=False)
class StateActionKernel:
    """K = R + γ P K Pᵀ on the live pairs of an MDP."""

    reward: Array  # [n]
    P: Array  # [n, n] the evaluation policy's chain; a row sums to less than one where the episode may end
    gamma: float

    @property
    def short_term(self) -> Array:
        """R(x, y) = 1 − |r(x) − r(y)|/(r_max − r_min); 1 where all rewards are equal. [n, n]"""
        span = float(np.ptp(self.reward)) if len(self.reward) else 0.0
        return np.asarray(1.0 - np.abs(self.reward[:, None] - self.reward[None, :]) / (span or 1.0))

    def operator(self, k: npt.ArrayLike) -> Array:
        """F(k): one expected update of every pair of pairs. [n, n]"""
        return np.asarray(self.short_term + self._step(np.asarray(k, dtype=np.float64)))

    def fixed_point(self, tol: float = 1e-12) -> Array:
        """The kernel itself, by doubling. [n, n]"""
        R = self.short_term
        return doubling(R, self.P, self.gamma, tol) if len(R) else R

    def iterate(self, start: Array | None = None, tol: float = 1e-12) -> Array:
        """The kernel by plain iteration from any start: the check. [n, n]"""
        return sweeps(self.short_term, self._step, self.gamma, start, tol)

    def _step(self, k: Array) -> Array:
        return np.asarray(self.gamma * (self.P @ k @ self.P.T))


def krope(mdp: TabularMDP, pi_e: npt.ArrayLike) -> StateActionKernel:
    live = mdp.live_pairs
    return StateActionKernel(mdp.r.reshape(-1)[live], pair_chain(mdp, pi_e)[np.ix_(live, live)], mdp.gamma)


def features(kernel: npt.ArrayLike, cutoff: float = RANK_CUTOFF) -> Array:
    """Φ [n, rank] with ΦΦᵀ = K, from its eigenvectors."""
    eigenvalues, vectors = np.linalg.eigh(np.asarray(kernel, dtype=np.float64))
    kept = eigenvalues > cutoff * eigenvalues[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]))
