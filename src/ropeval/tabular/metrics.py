"""The four state-action metrics of the paper: one line each, their operators and their fixed points.

    ROPE     d(x, y) = |r(x) − r(y)|   + γ E[d(x', y')],   a₁', a₂' ~ π_e independently
    MICo     d(x, y) = |r(x) − r(y)|   + γ E[d(x', y')],   a₁', a₂' ~ π_b independently
    PSM      d(x, y) = |π_e(x) − π_e(y)| + γ E[d(x', y')],   a₁', a₂' ~ π_e independently
    RANDOM   d(x, y) = |r(x) − r(y)|   + γ E[d((s₁', a'), (s₂', a'))],   a' uniform, the same on both sides

where x = (s₁, a₁), y = (s₂, a₂) and s₁', s₂' are drawn independently from P. What enters the future of a pair is
only its next state, so every metric is known from its mean over actions on states, M [S, S]:

    d = R + γ P̄ M P̄ᵀ,   P̄ [N, S],   with   M = E_actions[d],

and M obeys a recursion of its own, A² times smaller than that of d (A³ times cheaper to multiply). A terminal
state has reward 0 and takes no action: for PSM its π_e(a|s) counts as 0, whatever row the policy holds there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ropeval.errors import unknown_name
from ropeval.tabular.mdp import Array, TabularMDP
from ropeval.tabular.recursion import doubling, krylov, sweeps
from ropeval.tabular.solve import pair_chain, policy_chain


@dataclass(frozen=True, eq=False)
class StateActionMetric:
    """|feature(x) − feature(y)| now, and γ times the expected distance of what follows."""

    name: str
    mdp: TabularMDP
    feature: Array  # [N]
    policy: Array  # [S, A]
    same_action: bool = False

    @property
    def short_term(self) -> Array:
        """R(x, y) = |feature(x) − feature(y)|. [N, N]"""
        return np.abs(self.feature[:, None] - self.feature[None, :])

    @property
    def scale(self) -> float:
        """The unit of the tolerances: the largest one-step distance, and at least one."""
        return max(1.0, float(np.ptp(self.feature)))

    def operator(self, d: npt.ArrayLike) -> Array:
        """F(d): one expected update of every pair of pairs. [N, N]"""
        return self.short_term + self._future(self._state_mean(np.asarray(d, dtype=np.float64)))

    def fixed_point(self, tol: float = 1e-10) -> Array:
        """The metric itself, exact to tol·scale: doubling, or BiCGSTAB where the sides share their action. [N, N]"""
        R = self._state_mean(self.short_term)  # [S, S]
        goal, gamma = tol * self.scale, self.mdp.gamma
        if self.same_action:
            M = krylov(R, self.mdp.P.transpose(1, 0, 2), gamma, goal)
        else:
            M = doubling(R, policy_chain(self.mdp, self.policy).P, gamma, goal)
        return self.short_term + self._future(M)

    def iterate(self, start: Array | None = None, tol: float = 1e-10) -> Array:
        """The metric by plain iteration of the operator on pairs, from any start: the check. [N, N]"""
        return sweeps(self.short_term, self._step(), self.mdp.gamma, start, tol * self.scale)

    def _step(self) -> Callable[[Array], Array]:
        if self.same_action:
            return lambda d: self._future(self._state_mean(d))
        P = pair_chain(self.mdp, self.policy)  # [N, N]
        return lambda d: self.mdp.gamma * (P @ d @ P.T)

    def _state_mean(self, d: Array) -> Array:
        """E over the actions of both sides: M(s₁, s₂). [S, S]"""
        S, A = self.policy.shape
        d4 = d.reshape(S, A, S, A)
        if self.same_action:
            return np.asarray(np.einsum("sata->st", d4) / A)
        return np.asarray(np.einsum("sa,satb,tb->st", self.policy, d4, self.policy, optimize=True))

    def _future(self, M: Array) -> Array:
        P = self.mdp.pair_transitions  # [N, S]
        return self.mdp.gamma * (P @ M @ P.T)


def rope(mdp: TabularMDP, pi_e: npt.ArrayLike) -> StateActionMetric:
    return StateActionMetric("rope", mdp, mdp.r.reshape(-1), mdp.policy(pi_e, "pi_e"))


def mico(mdp: TabularMDP, pi_b: npt.ArrayLike) -> StateActionMetric:
    return StateActionMetric("mico", mdp, mdp.r.reshape(-1), mdp.policy(pi_b, "pi_b"))


def psm(mdp: TabularMDP, pi_e: npt.ArrayLike) -> StateActionMetric:
    policy = mdp.policy(pi_e, "pi_e")
    taken = np.where(mdp.terminal[:, None], 0.0, policy)  # no action is taken in a terminal state
    return StateActionMetric("psm", mdp, taken.reshape(-1), policy)


def random_policy(mdp: TabularMDP) -> StateActionMetric:
    return StateActionMetric("random", mdp, mdp.r.reshape(-1), mdp.uniform_policy(), same_action=True)


METRICS: dict[str, Callable[[TabularMDP, Array, Array], StateActionMetric]] = {
    "rope": lambda mdp, pi_e, pi_b: rope(mdp, pi_e),
    "mico": lambda mdp, pi_e, pi_b: mico(mdp, pi_b),
    "psm": lambda mdp, pi_e, pi_b: psm(mdp, pi_e),
    "random": lambda mdp, pi_e, pi_b: random_policy(mdp),
}


def build_metric(name: str, mdp: TabularMDP, pi_e: npt.ArrayLike, pi_b: npt.ArrayLike) -> StateActionMetric:
    if name not in METRICS:
        raise unknown_name("metric", name, list(METRICS))
    return METRICS[name](mdp, mdp.policy(pi_e, "pi_e"), mdp.policy(pi_b, "pi_b"))
