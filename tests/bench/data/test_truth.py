"""True values from episodes, against arithmetic done by hand."""

import numpy as np
import pytest

from ropeval.bench.data.episodes import Episode
from ropeval.bench.data.truth import PolicyTruth, Value, make_truth, policy_truth, summarise_episode


def episode(rewards) -> Episode:
    steps = len(rewards)
    return Episode(np.zeros((steps + 1, 1)), np.zeros((steps, 1)), np.array(rewards, float), True, False)


def test_an_episode_is_summed_under_both_definitions():
    assert summarise_episode(episode([4.0, 2.0, 8.0]), gamma=0.5, time_limit=None) == (4 + 1 + 2, 14.0, 3)
    # Played on beyond the log's time limit: the discounted return sees all, the mean reward what a log would hold.
    assert summarise_episode(episode([4.0, 2.0, 8.0]), gamma=0.5, time_limit=2) == (7.0, 6.0, 2)


def test_mean_reward_is_a_ratio_of_sums():
    truth = policy_truth(np.array([[1.0, 10.0, 2.0], [3.0, 2.0, 4.0]]), gamma=0.9, name="p", sha256=None)
    assert truth.discounted.value == 2.0
    assert truth.discounted.standard_error == pytest.approx(1.0)
    assert truth.mean_reward.value == pytest.approx(12 / 6 / 0.1)  # not the mean of 5 and 0.5
    assert (truth.mean_length, truth.mean_return, truth.episodes) == (3.0, 6.0, 2)


def test_standard_error_of_the_ratio_agrees_with_repetition():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, (2000, 300)).astype(float)
    returns = lengths * 0.7 + rng.standard_normal(lengths.shape)
    ratios = returns.sum(1) / lengths.sum(1) / 0.1
    truths = [
        policy_truth(np.stack([r, r, n], 1), 0.9, "p", None) for r, n in zip(returns[:20], lengths[:20], strict=True)
    ]
    stated = np.mean([truth.mean_reward.standard_error for truth in truths])
    assert stated == pytest.approx(ratios.std(), rel=0.1)


def truth_of(value: float, error: float) -> PolicyTruth:
    one = Value(value=value, standard_error=error)
    return PolicyTruth(discounted=one, mean_reward=one, mean_return=0.0, mean_length=1.0, episodes=9)


def test_a_rough_truth_is_flagged():
    policies = {"a": truth_of(0, 0.04), "b": truth_of(10, 0.06), "random": truth_of(-90, 9.0)}
    assert make_truth(0.9, policies, ["a", "b"]).imprecise == ("b",)  # half a percent of 10
    assert make_truth(0.9, policies, ["b"]).imprecise == ()  # alone, it is 100 from random
    assert make_truth(0.9, {**policies, "b": truth_of(10, 0.6)}, ["b"]).imprecise == ("b",)
