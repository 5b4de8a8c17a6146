"""Samples against the exact side: agreement in the limit, the rate, and the bias of noisy rewards."""

import numpy as np
import pytest

from ropeval.tabular import action_values, fqe_exact, gridworld, rope, sample_log, sampled_rope
from ropeval.tabular.sampled import counted, log_log_slope, mean_absolute_difference
from tests.tabular.strategies import garnet


def test_on_a_deterministic_world_one_visit_each_is_enough():
    grid = gridworld()
    log = sample_log(grid.mdp, np.ones((9, 4)), 600, np.random.default_rng(0))
    exact = rope(grid.mdp, grid.pi_e)
    np.testing.assert_allclose(fqe_exact(log, grid.pi_e, grid.mdp), action_values(grid.mdp, grid.pi_e), atol=1e-10)
    np.testing.assert_allclose(sampled_rope(log, grid.pi_e, grid.mdp).fixed_point(), exact.fixed_point(), atol=1e-8)


def test_fqe_exact_is_what_regression_converges_to():
    mdp, pi, _ = garnet(4, 2, 3, seed=0, gamma=0.8)
    log = sample_log(mdp, np.ones((4, 2)), 500, np.random.default_rng(1), noise=0.5)
    q = np.zeros((4, 2))
    for _ in range(200):  # fitted Q-evaluation: regress the targets on one-hot pairs, again and again
        targets = log.reward + 0.8 * (~log.done) * (pi * q).sum(-1)[log.next_state]
        sums, counts = np.zeros((4, 2)), np.zeros((4, 2))
        np.add.at(sums, (log.state, log.action), targets)
        np.add.at(counts, (log.state, log.action), 1)
        q = sums / counts
    np.testing.assert_allclose(fqe_exact(log, pi, mdp), q, atol=1e-10)


def test_the_operator_on_samples_is_the_mean_over_pairs_of_transitions():
    mdp, pi, _ = garnet(3, 2, 2, seed=1, gamma=0.7)
    log = sample_log(mdp, np.ones((3, 2)), 60, np.random.default_rng(2), noise=1.0)
    d = np.random.default_rng(3).random((6, 6))
    states = np.einsum("sa,satb,tb->st", pi, d.reshape(3, 2, 3, 2), pi)
    pair = log.state * 2 + log.action
    long = 0.7 * states[log.next_state][:, log.next_state]
    short = np.abs(log.reward[:, None] - log.reward)
    member = (pair[:, None] == np.arange(6)) / np.bincount(pair, minlength=6)  # [m, 6]
    expected = member.T @ (short + long) @ member
    np.testing.assert_allclose(sampled_rope(log, pi, mdp, rewards="samples").operator(d), expected, atol=1e-12)


def test_errors_fall_with_the_root_of_the_sample_size():
    mdp, pi, _ = garnet(5, 2, 3, seed=2, gamma=0.9)
    d = rope(mdp, pi).fixed_point()
    sizes = [1_000, 10_000, 100_000]
    errors = []
    for m in sizes:
        logs = [sample_log(mdp, np.ones((5, 2)), m, np.random.default_rng(seed)) for seed in range(8)]
        sampled = [sampled_rope(log, pi, mdp) for log in logs]
        errors.append(
            [
                np.mean([np.abs(metric.operator(d) - d).max() for metric in sampled]),
                np.mean([np.abs(metric.fixed_point() - d).max() for metric in sampled]),
            ]
        )
    for column in np.transpose(errors):
        assert log_log_slope(sizes, column) == pytest.approx(-0.5, abs=0.15)


def test_noisy_rewards_bias_the_sampled_distance_and_the_means_do_not():
    mdp, pi, _ = garnet(4, 2, 2, seed=3, gamma=0.9)
    exact = rope(mdp, pi)
    log = sample_log(mdp, np.ones((4, 2)), 100_000, np.random.default_rng(0), noise=0.5)
    means, samples = sampled_rope(log, pi, mdp), sampled_rope(log, pi, mdp, rewards="samples")
    assert np.abs(means.short_term - exact.short_term).max() < 0.05
    # |N(0, 2·0.25)| has mean √(2·0.25)·√(2/π): what two samples of one pair differ by
    np.testing.assert_allclose(np.diag(samples.short_term), np.sqrt(0.5 * 2 / np.pi), rtol=0.05)
    assert np.abs(samples.fixed_point() - exact.fixed_point()).max() > 1.0


def test_pairs_never_seen_stay_and_are_worth_nothing():
    mdp, _pi, _ = garnet(3, 2, 2, seed=4)
    weights = np.ones((3, 2))
    weights[1, 1] = 0
    log = sample_log(mdp, weights, 1_000, np.random.default_rng(0))
    assert counted(log, mdp).P[1, 1, 1] == 1
    assert counted(log, mdp).r[1, 1] == 0


def test_mean_absolute_difference():
    rng = np.random.default_rng(0)
    left, right = np.sort(rng.normal(size=7)), np.sort(rng.normal(size=5))
    assert mean_absolute_difference(left, right) == pytest.approx(np.abs(left[:, None] - right).mean())
