"""Exact values of a policy: one linear system of S unknowns, never a sweep."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ropeval.tabular.mdp import Array, TabularMDP


class PolicyChain(NamedTuple):
    """The Markov reward process that a policy makes of an MDP, on states."""

    P: Array  # [S, S]
    r: Array  # [S]


def policy_chain(mdp: TabularMDP, policy: npt.ArrayLike) -> PolicyChain:
    pi = mdp.policy(policy)
    return PolicyChain(np.einsum("sa,sat->st", pi, mdp.P), (pi * mdp.r).sum(axis=-1))


def state_values(mdp: TabularMDP, policy: npt.ArrayLike) -> Array:
    """v = r_π + γ P_π v. [S]"""
    chain = policy_chain(mdp, policy)
    v = _solve(np.eye(mdp.num_states) - mdp.gamma * chain.P, chain.r)
    return np.where(mdp.terminal, 0.0, v)  # exactly, not to rounding


def action_values(mdp: TabularMDP, policy: npt.ArrayLike) -> Array:
    """q(s, a) = r(s, a) + γ E[v(s')]. [S, A]"""
    return np.asarray(mdp.r + mdp.gamma * mdp.P @ state_values(mdp, policy))


def policy_value(mdp: TabularMDP, policy: npt.ArrayLike) -> float:
    """ρ(π) = E[v(s₀)], s₀ ~ d0: the expected discounted return."""
    return float(mdp.d0 @ state_values(mdp, policy))


def finite_value(mdp: TabularMDP, policy: npt.ArrayLike, horizon: int, gamma: float | None = None) -> float:
    """E[Σ_{t<H} γ^t r_t]: the expected return of the first `horizon` steps, where γ may be 1."""
    chain, discount = policy_chain(mdp, policy), mdp.gamma if gamma is None else gamma
    v = np.zeros(mdp.num_states)
    for _ in range(horizon):
        v = np.where(mdp.terminal, 0.0, chain.r + discount * chain.P @ v)
    return float(mdp.d0 @ v)


def occupancy(mdp: TabularMDP, policy: npt.ArrayLike) -> Array:
    """μ(s, a) = (1−γ) Σ_t γ^t Pr(s_t = s, a_t = a); sums to one. [S, A]

    What is left after termination rests on the terminal state, so that ρ(π) = Σ μ·r / (1−γ).
    """
    pi = mdp.policy(policy)
    flow = np.eye(mdp.num_states) - mdp.gamma * policy_chain(mdp, pi).P.T
    visits = _solve(flow, (1.0 - mdp.gamma) * mdp.d0)  # [S]
    return visits[:, None] * pi


def _solve(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def pair_chain(mdp: TabularMDP, policy: npt.ArrayLike) -> Array:
    """P_π[x, x'] = P(s' | x) π(a' | s'): the chain on state-action pairs. [N, N]"""
    pi = mdp.policy(policy)
    return (mdp.pair_transitions[:, :, None] * pi).reshape(mdp.num_pairs, mdp.num_pairs)
