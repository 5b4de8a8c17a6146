"""What least squares sees of a log, against plain means of plain products."""

from dataclasses import fields

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators import linear_features
from ropeval.estimators.linear_features import LinearFeatures, Moments
from tests.problems import Chain


def features(intercept: bool = False) -> LinearFeatures:
    problem = make_problem(Chain().log(6, length=4), Chain.policy(1.0), 0.9)
    return LinearFeatures(problem.transitions, intercept)


def test_products_of_state_and_action(monkeypatch: pytest.MonkeyPatch) -> None:
    phi = features()
    states, actions = np.split(np.asarray(phi.transitions.rows.x, np.float64), [-2], axis=1)
    states = np.column_stack([states, np.ones(len(states))])
    (data,) = phi.moments()
    whole = np.einsum("na,ns->nas", actions, states).reshape(len(states), -1)
    assert phi.size == whole.shape[1]
    assert features(intercept=True).size == whole.shape[1] + 1
    np.testing.assert_allclose(data.features, whole.T @ whole / len(whole), atol=1e-12)
    np.testing.assert_allclose(data.reward, whole.T @ np.asarray(phi.transitions.rows.reward) / len(whole), atol=1e-7)
    monkeypatch.setattr(linear_features, "MOST_PRODUCTS", whole.shape[1] - 1)
    assert phi.size == phi.transitions.dim  # as they are


def test_an_episode_that_is_held_twice_counts_twice() -> None:
    phi = features()
    episodes = len(phi.transitions.starts) - 1
    once, twice, first = phi.moments(counts=np.stack([np.full(episodes, 1), np.full(episodes, 2), np.eye(episodes)[0]]))
    (plain,) = phi.moments()
    for field in fields(Moments):
        expected = getattr(plain, field.name)
        np.testing.assert_allclose(getattr(once, field.name), expected, atol=1e-12)
        np.testing.assert_allclose(getattr(twice, field.name), expected, atol=1e-12)
    joint = phi.joint(phi.transitions.block(slice(0, int(phi.transitions.starts[1]))))
    assert first.squared_reward == pytest.approx((joint[:, -1] ** 2).mean())
