"""Lemma 1 and Theorem 2 over random clusterings, and what a radius is when self-distances are positive."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.tabular import TabularMDP, action_values, aggregate, aggregation_error, neighbourhoods, rope, zero_groups
from ropeval.tabular.aggregate import as_clustering
from tests.tabular.strategies import garnet, problems

seeds = st.integers(0, 2**32 - 1)
cases = settings(max_examples=200, deadline=None)


def check_bounds(mdp, pi_e, metric, clustering):
    found = aggregation_error(mdp, pi_e, clustering)
    rounding = 1e-8 * metric.scale / (1 - mdp.gamma)
    assert found.q_error <= found.bound + rounding
    assert found.value_error <= found.q_error + rounding
    return found


@cases
@given(problems(), seeds, st.sampled_from([0.0, 0.05, 0.3, 1.0, 10.0]))
def test_lemma_1_and_theorem_2_for_neighbourhoods(problem, seed, epsilon):
    mdp, pi_e, _ = problem
    metric = rope(mdp, pi_e)
    clustering = neighbourhoods(metric.fixed_point(), epsilon * metric.scale, np.random.default_rng(seed))
    assert clustering.radius <= epsilon * metric.scale + 1e-9 * metric.scale
    check_bounds(mdp, pi_e, metric, clustering)


@cases
@given(problems(), seeds)
def test_lemma_1_and_theorem_2_for_any_partition(problem, seed):
    mdp, pi_e, _ = problem
    metric = rope(mdp, pi_e)
    labels = np.random.default_rng(seed).integers(3, size=mdp.num_pairs)
    check_bounds(mdp, pi_e, metric, as_clustering(labels, metric.fixed_point()))


@cases
@given(problems())
def test_groups_at_distance_zero_cost_nothing(problem):
    mdp, pi_e, _ = problem
    metric = rope(mdp, pi_e)
    found = check_bounds(mdp, pi_e, metric, zero_groups(metric.fixed_point(), 1e-8 * metric.scale))
    assert found.q_error <= 1e-5 * metric.scale / (1 - mdp.gamma)


def test_alone_is_exact_though_self_distances_exceed_twice_epsilon():
    """Step (l) of the paper's proof reads d(x, x) ≤ 2ε. It fails here at ε = 0; the lemma itself does not."""
    mdp, pi_e, _ = garnet(6, 2, 3, seed=1, gamma=0.9)
    d = rope(mdp, pi_e).fixed_point()
    alone = neighbourhoods(d, epsilon=0.0)
    assert alone.count == mdp.num_pairs
    assert alone.radius == 0.0
    assert np.diag(d).min() > 0.5
    assert aggregation_error(mdp, pi_e, alone).q_error < 1e-12


def test_aggregation_by_hand():
    # Two states that pay 1 and 0 and then end, merged: both are worth ½, off by ½; their distance is 1 = 2ε.
    mdp = TabularMDP(np.tile([0.0, 0.0, 1.0], (3, 1, 1)), [[1.0], [0.0], [0.0]], [1, 0, 0], 0.9, [0, 0, 1])
    pi = np.ones((3, 1))
    d = rope(mdp, pi).fixed_point()
    clustering = as_clustering([0, 0, 1], d)
    process = aggregate(mdp, pi, clustering)
    np.testing.assert_allclose(process.P, [[0, 1], [0, 1]])
    np.testing.assert_allclose(process.values, [0.5, 0.0], atol=1e-15)
    found = aggregation_error(mdp, pi, clustering)
    assert (found.radius, found.clusters) == (0.5, 2)
    np.testing.assert_allclose([found.q_error, found.value_error, found.bound], [0.5, 0.5, 10.0])
    np.testing.assert_allclose(action_values(mdp, pi).ravel(), [1, 0, 0], atol=1e-15)


def test_zero_groups_are_connected_sets_and_strangers_stand_alone():
    d = np.array([[0.0, 0.0, 9, 9], [0.0, 0.0, 0.0, 9], [9, 0.0, 0.0, 9], [9, 9, 9, 5.0]])
    groups = zero_groups(d)
    assert groups.labels.tolist() == [0, 0, 0, 1]
    assert groups.radius == 4.5  # the connected set is wider than its links, and the radius says so
