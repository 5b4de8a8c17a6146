"""How far a policy lies from the log: distances by hand, and policies near and far."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.evaluation.coverage import measure, nearest
from ropeval.policies import CallablePolicy
from tests.problems import LinearQuadratic


def test_nearest_by_hand():
    known = np.array([[0.0, 0.0], [3.0, 4.0], [10.0, 0.0]], np.float32)
    asked = np.array([[0.0, 0.0], [10.0, 1.0]], np.float32)
    found = nearest(asked, known, np.array([0, 2]), np.array([0, 1, 2]))  # their own episodes do not count
    np.testing.assert_allclose(found, [5.0, np.hypot(7, 3)], rtol=1e-6)
    alone = nearest(asked, known, np.array([0, 0]), np.array([0, 0, 0]))
    np.testing.assert_allclose(alone, [0.0, 1.0], atol=1e-3)


@pytest.fixture(scope="module")
def log():
    return LinearQuadratic().log(100)


def coverage(log, act):
    return measure(make_problem(log, CallablePolicy(act, deterministic=True, name="p"), 0.9))


def test_near_and_far(log):
    near = coverage(log, lambda o: o @ LinearQuadratic.K.T)
    far = coverage(log, lambda o: np.full((len(o), 1), 25.0))
    assert near.outside < 0.1
    assert far.outside > 0.99
    assert far.policy_distances[0] > 10 * near.policy_distances[10]
    assert near.log_distances == far.log_distances  # the same sample for every policy
    assert near.log_points == far.log_points


def test_what_a_picture_needs(log):
    found = coverage(log, lambda o: o[:, :1])
    assert len(found.levels) == len(found.log_distances) == len(found.policy_distances) == 21
    assert found.policy_distances == sorted(found.policy_distances)
    assert np.shape(found.log_points) == np.shape(found.policy_points) == (300, 2)
    assert 0.5 < sum(found.explained) <= 1.0 + 1e-6
    assert np.isfinite(found.log_points).all()


def test_the_smallest_log():
    found = coverage(LinearQuadratic().log(1, length=1), lambda o: o[:, :1])
    assert 0.0 <= found.outside <= 1.0
