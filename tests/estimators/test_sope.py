"""SOPE with the exact ratio of states, from both ends of the spectrum; and the learned ratio's own equation."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.importance import weighted_per_decision
from ropeval.estimators.importance_weights import Episodes, make_weights
from ropeval.estimators.sope import arrivals, spectrum, step_ratios
from ropeval.tabular import TabularMDP
from ropeval.tabular.solve import occupancy
from tests.problems import Chain

RIGHT = 0.7


def exact_ratio(chain, data):
    """w of every logged state: π_e's exact discounted occupancy over the log's own."""
    P, r = chain.tables()
    n = chain.size
    moves = np.zeros((n + 1, 2, n + 1))
    moves[:n], moves[n, :, n] = P, 1.0
    rewards = np.concatenate([r, np.zeros((1, 2))])
    mdp = TabularMDP(moves, rewards, np.eye(n + 1)[0], chain.gamma, np.arange(n + 1) == n)
    visits = occupancy(mdp, np.tile([1 - RIGHT, RIGHT], (n + 1, 1))).sum(axis=1)[:n]  # [S]
    state = data.observations.argmax(axis=1)
    return (visits / (np.bincount(state, minlength=n) / len(state)))[state]


def case(chain, data):
    weights = make_weights(make_problem(data, chain.policy(RIGHT), chain.gamma), None)
    return weights, Episodes(data.starts, chain.gamma), data.rewards.astype(np.float64), data.terminations


@pytest.mark.parametrize("n", [0, 3])
def test_exact_ratios_of_states_find_the_value(n):
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(3000, length=60, log_probs=True)
    weights, episodes, rewards, ends = case(chain, data)
    ones = np.ones(3000, int)
    found = spectrum(weights.log[0], exact_ratio(chain, data), rewards, ends, episodes, n, ones)
    assert found.value == pytest.approx(chain.values(RIGHT)[1], rel=0.05)
    assert found.mean == pytest.approx(1.0, abs=0.05)


def test_beyond_the_longest_episode_it_is_wpdis():
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(50, length=40, log_probs=True)
    weights, episodes, rewards, ends = case(chain, data)
    counts = np.random.default_rng(0).integers(0, 3, 50)
    found = spectrum(weights.log[0], np.ones(len(data)), rewards, ends, episodes, 60, counts)
    assert found.value == pytest.approx(weighted_per_decision(weights.log[0], rewards, episodes)(counts))


def test_the_exact_ratio_is_a_fixed_point_of_what_it_is_learned_by():
    """Among the rows of every state, the mean of the targets is the ratio itself."""
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(4000, length=80, log_probs=True)
    weights, episodes, *_ = case(chain, data)
    problem = make_problem(data, chain.policy(RIGHT), chain.gamma)
    w = exact_ratio(chain, data)
    turned = arrivals(problem, step_ratios(weights))
    own, first = np.asarray(turned.rows.own)[0], np.asarray(turned.rows.reward)
    before = np.asarray(turned.rows.next_x)[:, 0]
    np.testing.assert_allclose(before[1:][first[1:] == 0], np.asarray(turned.rows.x)[:-1][first[1:] == 0])
    target = (1 - chain.gamma) * episodes.lengths.mean() * first + own * np.concatenate([[0.0], w[:-1]])
    state = data.observations.argmax(axis=1)
    for s in range(3):
        assert target[state == s].mean() == pytest.approx(w[state == s][0], rel=0.05)


def test_ratios_of_steps_come_back_from_their_products():
    chain = Chain(size=3)
    data = chain.log(10, log_probs=True)
    weights, *_ = case(chain, data)
    chosen = np.where(data.actions == 1, RIGHT, 1 - RIGHT)
    np.testing.assert_allclose(step_ratios(weights)[0], chosen / 0.5, rtol=1e-6)
