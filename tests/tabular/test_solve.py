"""Values and occupancy against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings

from ropeval.tabular import TabularMDP, action_values, occupancy, policy_value, rope
from ropeval.tabular.solve import pair_chain
from tests.tabular.strategies import garnet, problems


def chain(length, gamma):
    """0 → 1 → … → terminal, reward 1 a step."""
    P = np.eye(length + 1, k=1)[:, None, :].copy()
    P[-1, 0, -1] = 1.0
    return TabularMDP(P, np.ones((length + 1, 1)), np.eye(length + 1)[0], gamma, np.arange(length + 1) == length)


def test_a_chain_has_its_geometric_sum():
    gamma, length = 0.9, 6
    mdp = chain(length, gamma)
    pi = np.ones((length + 1, 1))
    left = length - np.arange(length + 1)
    expected = (1 - gamma**left) / (1 - gamma)  # [S], 0 after the end
    np.testing.assert_allclose(action_values(mdp, pi)[:, 0], expected, atol=1e-14)
    # deterministic, rewards 1 until the end: the distance is the discounted number of steps only one side makes
    np.testing.assert_allclose(rope(mdp, pi).fixed_point(), np.abs(expected[:, None] - expected), rtol=0, atol=1e-10)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_value_is_occupancy_times_reward_and_q_solves_bellman(problem):
    mdp, pi, _ = problem
    mu = occupancy(mdp, pi)
    scale = 1 + np.abs(mdp.r).max() / (1 - mdp.gamma)
    assert mu.sum() == pytest.approx(1)
    assert (mu >= -1e-12).all()
    assert (mu * mdp.r).sum() / (1 - mdp.gamma) == pytest.approx(policy_value(mdp, pi), abs=1e-9 * scale)
    q = action_values(mdp, pi)
    np.testing.assert_allclose(mdp.r + mdp.gamma * mdp.P @ (pi * q).sum(-1), q, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(q[mdp.terminal], 0.0)


def test_pair_chain_is_a_distribution():
    mdp, pi, _ = garnet(5, 3, 2, seed=0)
    np.testing.assert_allclose(pair_chain(mdp, pi).sum(axis=1), 1.0)
