"""KROPE's kernel on random MDPs: a contraction, positive semidefinite, complete; and when least squares is stable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.tabular import TabularMDP, action_values, krope
from ropeval.tabular.kernel import StateActionKernel, features
from tests.tabular.strategies import problems

seeds = st.integers(0, 2**32 - 1)
cases = settings(max_examples=100, deadline=None)
ROUNDING = 1e-6  # directions of the kernel near its rounding are kept or not


def shares(n, rng, some):
    """Of the log, by pair; all pairs, or a random part of them."""
    weights = rng.dirichlet(np.ones(n)) + 1e-3
    if some:
        weights[rng.random(n) < 0.5] = 0.0
        weights[rng.integers(n)] = 1.0
    return weights / weights.sum()


def iteration_matrix(phi, weights, P, gamma):
    """LSPE's: (ΦᵀDΦ)⁺ ΦᵀD γPΦ, D the share of the log that each pair has. [rank, rank]"""
    root = np.sqrt(weights)[:, None]  # [n, 1]
    return gamma * np.linalg.pinv(root * phi, rcond=1e-7) @ (root * (P @ phi))


def spectral_radius(matrix):
    return float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0))


@cases
@given(problems(), seeds)
def test_the_operator_contracts_to_one_fixed_point_from_any_start(problem, seed):
    mdp, pi_e, _ = problem
    kernel, rng = krope(mdp, pi_e), np.random.default_rng(seed)
    n = len(kernel.reward)
    if not n:
        assert kernel.fixed_point().shape == (0, 0)
        return
    k, other = rng.normal(size=(n, n)), 10 * rng.normal(size=(n, n))
    before, after = np.abs(k - other).max(), np.abs(kernel.operator(k) - kernel.operator(other)).max()
    assert after <= mdp.gamma * before * (1 + 1e-12) + 1e-12
    fixed = kernel.fixed_point()
    np.testing.assert_allclose(kernel.operator(fixed), fixed, rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel.iterate(50 * other), fixed, rtol=0, atol=1e-9)


@cases
@given(problems())
def test_the_kernel_is_positive_semidefinite_and_bounded(problem):
    mdp, pi_e, _ = problem
    kernel = krope(mdp, pi_e)
    if not len(kernel.reward):
        return
    for K, most in ((kernel.short_term, 1.0), (kernel.fixed_point(), 1.0 / (1.0 - mdp.gamma))):
        np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-10)
        assert np.linalg.eigvalsh(K)[0] >= -1e-10 * most * len(K)
        assert K.min() >= -1e-12
        assert K.max() <= most * (1 + 1e-12)


@cases
@given(problems(), seeds)
def test_a_log_of_every_pair_makes_least_squares_stable_and_exact(problem, seed):
    """Whatever the shares are. The radius is at most γ, and q is linear in the features."""
    mdp, pi_e, _ = problem
    kernel, rng = krope(mdp, pi_e), np.random.default_rng(seed)
    n = len(kernel.reward)
    if not n:
        return
    phi = features(kernel.fixed_point())
    W = iteration_matrix(phi, shares(n, rng, some=False), kernel.P, mdp.gamma)
    assert spectral_radius(W) <= mdp.gamma + ROUNDING
    q = action_values(mdp, pi_e).reshape(-1)[mdp.live_pairs]
    fitted = phi @ np.linalg.lstsq(phi, q, rcond=None)[0]
    np.testing.assert_allclose(fitted, q, rtol=0, atol=1e-5 * max(1.0, np.abs(q).max()))


@cases
@given(problems(), seeds)
def test_a_log_of_some_pairs_is_stable_with_a_factor_of_the_kernel(problem, seed):
    """By the root of γ: the pseudo-inverse projects orthogonally, and γM is no longer than that."""
    mdp, pi_e, _ = problem
    kernel, rng = krope(mdp, pi_e), np.random.default_rng(seed)
    n = len(kernel.reward)
    if not n:
        return
    W = iteration_matrix(features(kernel.fixed_point()), shares(n, rng, some=True), kernel.P, mdp.gamma)
    assert spectral_radius(W) <= np.sqrt(mdp.gamma) + ROUNDING


def test_the_same_span_is_not_enough_where_the_log_lacks_a_pair():
    """A counterexample to stability of every feature map that spans the kernel's functions: the log holds pair 0
    alone, which leads to pair 1. Both maps span everything; one factorises the kernel, the other says 1, then 2."""
    gamma = 0.9
    kernel = krope(TabularMDP([[[0.0, 1.0]], [[0.0, 1.0]]], [[1.0], [0.0]], [1, 0], gamma), [[1.0], [1.0]])
    phi, only_first = features(kernel.fixed_point()), np.array([1.0, 0.0])
    assert phi.shape == (2, 2)
    # K = [[1 + 9, 9], [9, 10]] and W = γ·K₁₂/K₁₁.
    W = iteration_matrix(phi, only_first, kernel.P, gamma)
    assert spectral_radius(W) == pytest.approx(gamma * 9 / 10)
    other = np.array([[1.0, 0.0], [2.0, 1.0]])
    assert spectral_radius(iteration_matrix(other, only_first, kernel.P, gamma)) == pytest.approx(2 * gamma)


def test_a_chain_by_hand():
    """Rewards 1 then 0 and the end: k = [[1 + γ, 0], [0, 1]], since the second pair has nothing to follow it."""
    kernel = StateActionKernel(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), 0.5)
    np.testing.assert_allclose(kernel.fixed_point(), [[1.5, 0.0], [0.0, 1.0]])
    one = krope(TabularMDP([[[0, 1, 0]], [[0, 0, 1]], [[0, 0, 1]]], [[1.0], [0], [0]], [1, 0, 0], 0.5, [0, 0, 1]),
                np.ones((3, 1)))  # fmt: skip
    np.testing.assert_allclose(one.fixed_point(), kernel.fixed_point())
