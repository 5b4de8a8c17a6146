"""MAGIC: its partial sums between q and `wdr`, the blend's optimality, and what it does with good and bad q."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.doubly_robust import temporal_differences, weighted_doubly_robust
from ropeval.estimators.importance_weights import Episodes
from ropeval.estimators.magic import LENGTHS, blend, lengths, partial_sums, smallest_on_simplex
from tests.problems import Chain

RIGHT = 0.8


def case(chain, data, table):
    """log ρ, δ and V(s₀) for q given as a table."""
    policy = chain.policy(RIGHT)
    values = table @ [1 - RIGHT, RIGHT]
    state, following = data.observations.argmax(axis=1), data.next_observations.argmax(axis=1)
    problem = make_problem(data, policy, chain.gamma)
    errors = temporal_differences(problem, table[state, data.actions][None], values[following][None])[0]
    episodes = Episodes(data.starts, chain.gamma)
    log = episodes.cumulated(policy.log_prob(data.observations, data.actions) - data.log_probs)
    return log, errors, np.full(data.num_episodes, values[0]), episodes


def test_the_ends_are_q_and_wdr_on_every_resample():
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(40, length=100, log_probs=True)
    table = np.random.default_rng(0).normal(size=(3, 2))
    log, errors, initial, episodes = case(chain, data, table)
    for counts in (np.ones(40, int), np.random.default_rng(1).integers(0, 3, 40)):
        found = partial_sums(log, errors, initial, episodes, counts)
        assert found.sums[0] == pytest.approx(initial[0])
        assert found.sums[-1] == pytest.approx(weighted_doubly_robust(log, errors, initial, episodes)(counts))
        assert len(found.sums) == len(lengths(int(episodes.lengths.max())))


def test_lengths_hold_both_ends():
    for longest in (1, 2, 30, 1000):
        found = lengths(longest)
        assert (found[0], found[-1]) == (0, longest)
        assert len(found) <= LENGTHS
        assert (np.diff(found) > 0).all()


def test_the_blend_is_the_best_there_is():
    rng = np.random.default_rng(0)
    for _ in range(5):
        root = rng.normal(size=(6, 4))
        matrix = root @ root.T
        x = smallest_on_simplex(matrix)
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1.0)
        gradient = matrix @ x  # at the best point no direction of the simplex leads down
        assert gradient.min() >= x @ gradient - 1e-8
    np.testing.assert_array_equal(smallest_on_simplex(np.zeros((1, 1))), [1.0])
    assert smallest_on_simplex(np.zeros((3, 3))).sum() == pytest.approx(1.0)


def test_a_right_q_is_kept_and_a_wrong_one_is_corrected():
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(600, length=30, log_probs=True)
    exact, truth = chain.values(RIGHT)
    ones = np.ones(600, int)
    log, errors, initial, episodes = case(chain, data, exact)
    right = blend(partial_sums(log, errors, initial, episodes, ones), 600)
    assert right.value == pytest.approx(truth, abs=0.02)
    _, errors, initial, _ = case(chain, data, exact + 3.0)
    wrong = blend(partial_sums(log, errors, initial, episodes, ones), 600)
    assert wrong.x[0] < 0.05
    assert wrong.value == pytest.approx(truth, abs=0.1)


def test_a_constant_that_nothing_contradicts():
    """No error anywhere: all sums are q's own, and so is the blend."""
    episodes = Episodes(np.array([0, 2, 2, 5]), 0.9)
    found = partial_sums(np.zeros(5), np.zeros(5), np.full(3, 7.0), episodes, np.ones(3, int))
    assert blend(found, 3).value == pytest.approx(7.0)
