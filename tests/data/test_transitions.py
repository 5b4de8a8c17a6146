"""From log and policy to training arrays: who sees what, and what is discounted."""

import numpy as np
import pytest

from ropeval.data import Dataset, expected, make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy, UniformPolicy


def test_policies_see_raw_states_and_learners_normalised_ones(columns):
    columns["observations"] = columns["observations"] * 7 + 100
    columns["next_observations"] = columns["next_observations"] * 7 + 100
    seen = []

    def policy(observations):
        seen.append(observations.copy())
        return np.zeros((len(observations), 2))

    log = Dataset.from_columns(columns)
    rows = make_problem(log, CallablePolicy(policy, deterministic=True), 0.9).transitions.rows
    np.testing.assert_array_equal(seen[0], columns["next_observations"])
    states = np.asarray(rows.x[:, :3])
    np.testing.assert_allclose(states.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(states.std(axis=0), 1, atol=1e-4)
    np.testing.assert_array_equal(np.asarray(rows.x[:, 3:]), columns["actions"])  # actions are left alone


def test_a_constant_column_does_not_divide_by_zero(columns):
    columns["observations"][:, 0] = 3.0
    rows = make_problem(Dataset.from_columns(columns), UniformPolicy(-1, 1), 0.9).transitions.rows
    assert np.isfinite(np.asarray(rows.x)).all()


def test_termination_zeroes_the_discount_and_truncation_does_not(columns):
    rows = make_problem(Dataset.from_columns(columns), UniformPolicy(-1, 1), 0.9).transitions.rows
    expected = np.full(12, 0.9, np.float32)
    expected[3] = 0.0
    np.testing.assert_array_equal(np.asarray(rows.discount), expected)


def test_one_draw_of_a_deterministic_policy_and_eight_of_a_stochastic_one(columns):
    log = Dataset.from_columns(columns)
    fixed = CallablePolicy(lambda o: o[:, :2], deterministic=True)
    assert make_problem(log, fixed, 0.9).transitions.rows.next_x.shape == (12, 1, 5)
    assert make_problem(log, UniformPolicy(-1, 1), 0.9).transitions.rows.next_x.shape == (12, 8, 5)
    few = make_problem(log, UniformPolicy(-1, 1), 0.9, draws=3).transitions
    assert few.rows.next_x.shape == (12, 3, 5)
    assert few.initial_x.shape == (3, 3, 5)


def test_same_seed_same_draws(columns):
    log = Dataset.from_columns(columns)
    draw = [np.asarray(make_problem(log, UniformPolicy(-1, 1), 0.9, seed=s).transitions.rows.next_x) for s in (1, 1, 2)]
    np.testing.assert_array_equal(draw[0], draw[1])
    assert (draw[0] != draw[2]).any()


@pytest.mark.parametrize("gamma", [-0.1, 1.0, 1.5, float("nan")])
def test_gamma_outside_its_range_is_refused(columns, gamma):
    with pytest.raises(UserError, match="gamma"):
        make_problem(Dataset.from_columns(columns), UniformPolicy(-1, 1), gamma)


def test_expected_values_by_weight():
    values, weight = np.array([[1.0, 3.0], [2.0, 6.0]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_allclose(expected(values, weight), [2.5, 2.0])
    np.testing.assert_allclose(expected(values, None), [2.0, 4.0])
    np.testing.assert_allclose(expected(np.stack([values, -values], axis=2), weight), [[2.5, -2.5], [2.0, -2.0]])
