"""Ranking: probabilities against closed forms, scores by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ropeval.evaluation.rank import probabilities, rank, scores
from ropeval.evaluation.result import Estimate


def estimate(policy, method, value, replicates):
    return Estimate(policy, "stochastic", method, value, None, value, value, [value], [], [], {}, "", "", 0.0,
                    replicates=list(replicates))  # fmt: skip


def test_two_policies_with_few_replicates_have_the_t_probability_of_their_difference():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal(8)
    replicates = np.stack([shared, shared + 0.3 + 0.4 * rng.standard_normal(8)])
    values = replicates.mean(axis=1)
    difference = replicates[1] - replicates[0]
    n = 60
    scale = difference.std(ddof=1) * np.sqrt((1 + 1 / 8) * n / (n - 1))
    expected = stats.t.cdf(difference.mean() / scale, 7)
    best, beats = probabilities(values, replicates, n)
    assert beats[1, 0] == pytest.approx(expected, abs=0.01)  # of 20,000 draws
    assert beats[1, 0] + beats[0, 1] == pytest.approx(1.0)
    assert best == pytest.approx([1 - beats[1, 0], beats[1, 0]])
    assert beats[0, 0] == 0.5


def test_shared_luck_does_not_blur_the_order():
    """A thousand times as much common noise as difference: paired, the order is sure; by intervals it would not be."""
    noise = 1000.0 * np.random.default_rng(0).standard_normal(10)
    replicates = np.stack([noise, noise + 1.0 + 0.01 * np.arange(10)])
    _, beats = probabilities(replicates.mean(axis=1), replicates, 100)
    assert beats[1, 0] > 0.999


def test_many_replicates_are_counted_and_ties_are_shared():
    replicates = np.zeros((3, 200))
    replicates[0, :150] = 1.0
    best, beats = probabilities(replicates.mean(axis=1), replicates, 50)
    assert best == pytest.approx([0.75 + 0.25 / 3, 0.25 / 3, 0.25 / 3])
    assert beats[0, 1] == pytest.approx(0.75 + 0.125)


@pytest.mark.parametrize("count", [8, 400])
def test_what_resamples_do_not_show_makes_less_sure(count):
    rng = np.random.default_rng(0)
    replicates = np.stack([rng.standard_normal(count), 1.5 + rng.standard_normal(count)])
    unseen = (np.zeros(2), np.array([0.0, 2.0]), np.array([2.0, 2.0]))
    sure, less, least = (probabilities(np.array([0.0, 1.5]), replicates, 100, u)[1][1, 0] for u in unseen)
    assert 0.5 < least < less - 0.03 < sure - 0.06


def test_an_error_of_its_own_by_the_closed_form():
    """Replicates hardly differ: P(1 beats 0) = Φ(Δ/√(u₀² + u₁²))."""
    replicates = np.stack([np.linspace(-1e-6, 1e-6, 200)] * 2)
    _, beats = probabilities(np.array([0.0, 1.0]), replicates, 100, np.array([0.6, 0.8]))
    assert beats[1, 0] == pytest.approx(stats.norm.cdf(1.0), abs=0.01)


def test_without_resamples_nothing_is_known():
    best, beats = probabilities(np.array([1.0, 2.0]), np.empty((2, 0)), 50)
    assert best.tolist() == [0.5, 0.5]
    assert beats.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_resamples_of_one_episode_tell_nothing():
    (found,) = rank([estimate("a", "fqe", 1.0, [1.0, 1.1]), estimate("b", "fqe", 2.0, [2.0, 2.1])], episodes=1)
    assert found.replicates == 0  # so that no table shows even chances as if they had been found out
    assert found.best == [0.5, 0.5]


def test_rankings_are_by_method_best_first_and_leave_out_what_tells_nothing_apart():
    rng = np.random.default_rng(0)
    results = [estimate(p, "fqe", v, v + rng.standard_normal(10)) for p, v in (("a", 1.0), ("b", 30.0), ("c", 2.0))]
    results += [estimate(p, "mean-return", 5.0, np.full(10, 5.0)) for p in "abc"]
    results += [replace(estimate("d", "fqe", 0.0, []), value=None)]  # diverged
    (found,) = rank(results, 100, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert (found.method, found.policies, found.replicates) == ("fqe", ["b", "c", "a"], 10)
    assert sum(found.best) == pytest.approx(1.0)
    assert found.best[0] > 0.999
    assert found.truth["spearman"] == pytest.approx(stats.spearmanr([30, 2, 1], [2, 3, 1]).statistic)


def test_scores_by_hand():
    guess = {"a": 10.0, "b": 20.0, "c": 15.0, "d": 0.0, "unknown": 7.0}
    true = {"a": 12.0, "b": 10.0, "c": 11.0, "d": 2.0}
    found = scores(guess, true)
    assert found["absolute_error"] == pytest.approx((2 + 10 + 4 + 2) / 4)
    assert found["regret@1"] == pytest.approx(12 - 10)  # b is chosen, a would be best
    assert found["regret@3"] == pytest.approx(0.0)  # b, c and a: the best is among them
    assert found["normalised_regret@1"] == pytest.approx(2 / 10)
    assert "regret@5" not in found
    assert scores(guess, {"a": 1.0}) is None
    assert "spearman" not in scores({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 2.0})
