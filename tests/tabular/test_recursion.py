"""The recursions for metrics, against direct solutions and each other."""

import subprocess
import sys

import numpy as np
import pytest

from ropeval.tabular import mico, random_policy, rope
from ropeval.tabular import recursion as rec
from ropeval.tabular.solve import pair_chain, policy_chain
from tests.tabular.strategies import garnet


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99, 0.9999])
@pytest.mark.parametrize("use_jax", [False, True])
def test_doubling_agrees_with_a_direct_solve(gamma, use_jax):
    mdp, pi, _ = garnet(6, 2, 3, seed=2, gamma=gamma)
    P, R = policy_chain(mdp, pi).P, np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    direct = np.linalg.solve(np.eye(36) - gamma * np.kron(P, P), R.reshape(-1)).reshape(6, 6)
    np.testing.assert_allclose(rec.doubling(R, P, gamma, 1e-10, use_jax), direct, rtol=1e-11, atol=1e-10)


def test_a_dozen_rounds_do():
    assert rec.rounds(0.99, 1.0, 1e-10) == 12
    assert rec.rounds(0.0, 1.0, 1e-10) == 0
    assert rec.rounds(0.9, 0.0, 1e-10) == 0


@pytest.mark.parametrize("branches", [1, 3, 40])
def test_the_coupled_recursion_agrees_with_sweeps(branches):
    mdp, _, _ = garnet(40, 3, branches, seed=3)
    metric = random_policy(mdp)
    np.testing.assert_allclose(metric.fixed_point(), metric.iterate(), rtol=0, atol=2e-10)


def test_jax_and_numpy_agree_on_larger_problems_and_x64_stays_local(monkeypatch):
    import jax.numpy as jnp

    mdp, pi, _ = garnet(60, 2, 30, seed=4, gamma=0.95)
    small = [mico(mdp, pi).fixed_point(), random_policy(mdp).fixed_point()]
    monkeypatch.setattr(rec, "JAX_FROM", 1)
    large = [mico(mdp, pi).fixed_point(), random_policy(mdp).fixed_point()]
    np.testing.assert_allclose(large, small, rtol=0, atol=2e-10)
    assert jnp.ones(1).dtype == jnp.float32


def test_sweeps_stop_even_where_rounding_hides_the_goal():
    mdp, pi, _ = garnet(4, 2, 2, seed=5, gamma=0.9)
    R = 1e9 * rope(mdp, pi).short_term
    P = pair_chain(mdp, pi)
    d = rec.sweeps(R, lambda d: 0.9 * P @ d @ P.T, 0.9, tol=1e-10)
    np.testing.assert_allclose(d, 1e9 * rope(mdp, pi).fixed_point(), rtol=1e-9)


@pytest.mark.process
def test_importing_the_room_leaves_jax_in_float32():
    code = "import ropeval.tabular, jax; assert not jax.config.jax_enable_x64"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
