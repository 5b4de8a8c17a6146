"""The paper's propositions and Theorem 1, over random MDPs, for all four metrics where they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ropeval.tabular import METRICS, TabularMDP, action_values, rope
from ropeval.tabular.metrics import build_metric
from tests.tabular.strategies import problems

names = st.sampled_from(sorted(METRICS))
seeds = st.integers(0, 2**32 - 1)
cases = settings(max_examples=200, deadline=None)


def slack(metric):
    return 2e-9 * metric.scale / (1 - metric.mdp.gamma)


@cases
@given(problems(), names, seeds)
def test_the_operator_contracts_with_factor_gamma(problem, name, seed):
    metric = build_metric(name, *problem)
    rng = np.random.default_rng(seed)
    shape = (metric.mdp.num_pairs,) * 2
    d, e = rng.normal(size=shape), 10 * rng.normal(size=shape)
    before, after = np.abs(d - e).max(), np.abs(metric.operator(d) - metric.operator(e)).max()
    assert after <= metric.mdp.gamma * before * (1 + 1e-12) + 1e-12


@cases
@given(problems(), names, seeds)
def test_one_fixed_point_from_any_start(problem, name, seed):
    metric = build_metric(name, *problem)
    d = metric.fixed_point()
    start = np.random.default_rng(seed).normal(size=d.shape) * 50
    tol = 1e-10 * metric.scale
    np.testing.assert_allclose(metric.operator(d), d, rtol=0, atol=2 * tol)
    np.testing.assert_allclose(metric.iterate(start), d, rtol=0, atol=3 * tol)
    np.testing.assert_allclose(metric.iterate(), d, rtol=0, atol=3 * tol)


@cases
@given(problems(), names)
def test_symmetric_non_negative_and_triangle(problem, name):
    metric = build_metric(name, *problem)
    d = metric.fixed_point()
    assert (d >= 0).all()
    np.testing.assert_allclose(d, d.T, rtol=0, atol=1e-9 * metric.scale)
    through = (d[:, :, None] + d[None, :, :]).min(axis=1)  # min over y of d(x, y) + d(y, z)
    assert (d <= through + slack(metric)).all()


@cases
@given(problems(deterministic=True))
def test_deterministic_means_exactly_zero_self_distance(problem):
    mdp, pi_e, _ = problem
    # A terminal row is made uniform; its self-distance is still zero, since nothing happens there.
    assert (np.diag(rope(mdp, pi_e).fixed_point()) == 0.0).all()


def test_a_stochastic_process_has_a_positive_self_distance():
    # From state 0 the next state is 0 or 1 with equal chance, rewards 1 and 0, state 1 absorbs.
    # d(0,0) = γ/4·(d00 + 2·d01), d(0,1) = 1 + γ/2·d01: two copies of the same pair drift apart.
    gamma = 0.9
    mdp = TabularMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], [1, 0], gamma)
    d01 = 1 / (1 - gamma / 2)
    d00 = gamma / 2 * d01 / (1 - gamma / 4)
    np.testing.assert_allclose(rope(mdp, [[1.0], [1.0]]).fixed_point(), [[d00, d01], [d01, 0.0]], atol=1e-12)


@cases
@given(problems())
def test_action_values_are_closer_than_the_distance(problem):
    mdp, pi_e, pi_b = problem
    for name, policy in {"rope": pi_e, "mico": pi_b}.items():
        metric = build_metric(name, mdp, pi_e, pi_b)
        q = action_values(mdp, policy).reshape(-1)
        assert (np.abs(q[:, None] - q) <= metric.fixed_point() + slack(metric)).all()


@cases
@given(problems())
def test_the_random_policy_metric_bounds_the_uniform_policys_values(problem):
    mdp, pi_e, pi_b = problem
    metric = build_metric("random", mdp, pi_e, pi_b)
    q = action_values(mdp, mdp.uniform_policy()).reshape(-1)
    assert (np.abs(q[:, None] - q) <= metric.fixed_point() + slack(metric)).all()


def wasserstein(d, mu, nu):
    """min Σ ω·d over couplings ω of mu and nu, as a linear programme."""
    n = len(mu)
    marginals = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    plan = linprog(d.reshape(-1), A_eq=marginals, b_eq=np.concatenate([mu, nu]), bounds=(0, None))
    assert plan.status == 0
    return plan.fun


@settings(max_examples=25, deadline=None)
@given(problems(max_states=3), seeds)
def test_wasserstein_is_at_most_lukaszyk_karmowski(problem, seed):
    mdp, pi_e, _ = problem
    metric = rope(mdp, pi_e)
    d, q = metric.fixed_point(), action_values(mdp, pi_e).reshape(-1)
    mu, nu = np.random.default_rng(seed).dirichlet(np.ones(len(d)), size=2)
    transported = wasserstein(d, mu, nu)
    rounding = 1e-7 * metric.scale / (1 - mdp.gamma)
    assert transported <= mu @ d @ nu + rounding
    # The half of Kantorovich duality that the proof of Lemma 1 uses: q is 1-Lipschitz for d.
    assert abs(mu @ q - nu @ q) <= transported + rounding


def test_duality_is_an_inequality_for_a_diffuse_metric():
    # Two equal point masses: no function can tell them apart, yet moving x to x costs d(x, x) > 0.
    mdp = TabularMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], [1, 0], 0.9)
    d = rope(mdp, [[1.0], [1.0]]).fixed_point()
    point = np.array([1.0, 0.0])
    assert wasserstein(d, point, point) == pytest.approx(d[0, 0])
    assert d[0, 0] > 0.5
