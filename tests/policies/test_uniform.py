"""The uniform policy: over a box, the log's range, or a set."""

from typing import Any

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import Space, UniformPolicy, load_policy


def test_uniform_over_the_logs_range_a_box_and_a_set(columns):
    log = Dataset.from_columns(columns)
    over_log = load_policy("uniform")
    x = np.asarray(make_problem(log, over_log, 0.9, draws=64).transitions.rows.next_x[..., 3:])
    assert (x >= log.actions.min(0) - 1e-6).all()
    assert (x <= log.actions.max(0) + 1e-6).all()
    box = load_policy("uniform:-3,3")
    assert abs(np.asarray(make_problem(log, box, 0.9, draws=64).transitions.rows.next_x[..., 3:])).max() > 2
    discrete = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    rows = np.asarray(make_problem(discrete, UniformPolicy(), 0.9, draws=64).transitions.rows.next_x[..., 3:])
    np.testing.assert_allclose(rows.mean(axis=(0, 1)), 1 / 3, atol=0.1)


def test_each_log_gives_its_own_range(columns):
    """One policy, put to a log and then to another: it used to keep the range of the first."""
    policy = UniformPolicy()
    narrow, wide = (Dataset.from_columns(columns | {"actions": factor * columns["actions"]}) for factor in (1, 10))
    for log in (narrow, wide):
        fitted: Any = make_problem(log, policy, 0.9).policy
        low, high = fitted.bounds
        np.testing.assert_array_equal([low, high], [log.actions.min(axis=0), log.actions.max(axis=0)])
    discrete = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    assert make_problem(discrete, policy, 0.9).policy.action_size == 3
    assert policy.action_size is None
    assert policy.discrete is None


def test_chances_over_a_set():
    policy = UniformPolicy().fitted(Space(3, 4, discrete=True))
    np.testing.assert_allclose(policy.action_probabilities(np.zeros((2, 3), np.float32)), np.full((2, 4), 0.25))
    box = UniformPolicy(-1, 1).fitted(Space(3, 2, discrete=False))
    assert box.action_probabilities(np.zeros((2, 3), np.float32)) is None


@pytest.mark.parametrize(
    ("bounds", "space", "message"),
    [
        ((1, -1), None, "lower bound 1.0 is above its upper bound -1.0"),
        ((-np.inf, np.inf), None, "expected finite numbers"),
        ((np.nan, 1), None, "expected finite numbers"),
        (([-1, -1, -1], 1), Space(3, 2, discrete=False), "bounds have 3 numbers, but an action has 2"),
        ((-1, 1), Space(3, 2, discrete=True), "its actions are continuous, but the log's are discrete"),
        ((5, None), Space(3, 1, False, np.float32([0]), np.float32([1])), "lower bound .* is above its upper bound"),
    ],
)
def test_bounds_that_are_none(bounds, space, message):
    with pytest.raises(UserError, match=message):
        UniformPolicy(*bounds).fitted(space)


def test_without_bounds_it_cannot_act():
    with pytest.raises(UserError, match="no bounds yet"):
        UniformPolicy().sample(np.zeros((2, 3), np.float32), np.random.default_rng(0))
