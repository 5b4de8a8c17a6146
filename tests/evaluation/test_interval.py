"""Intervals against formulas and against counting how often they hold the truth."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from ropeval.data.bounds import Bounds
from ropeval.evaluation.interval import acceleration, bias_correction, make_interval, small_sample_factor, within
from ropeval.evaluation.result import Interval
from ropeval.learning.resample import Resamples

N = 40


def bootstrap(sample: np.ndarray, replicates: int, seed: int):
    counts = Resamples(seed, len(sample)).counts(0, replicates)
    return counts @ sample / len(sample), counts


def test_nothing_can_be_said_about_one_episode_or_one_replicate():
    assert make_interval(1.0, np.ones(400), 1) is None
    assert make_interval(1.0, np.ones(1), 50) is None
    assert make_interval(None, np.ones(400), 50) is None
    assert make_interval(1.0, np.array([1.0, np.nan, np.inf]), 50) is None


def test_the_t_interval_by_hand():
    replicates = np.array([1.0, 2.0, 3.0, 4.0])
    found = make_interval(2.5, replicates, 100)
    half = stats.t.ppf(0.975, 3) * replicates.std(ddof=1) * np.sqrt(1.25 * 100 / 99)
    assert (found.kind, found.replicates, found.episodes) == ("t", 4, 100)
    assert (found.low, found.high) == pytest.approx((2.5 - half, 2.5 + half))
    assert small_sample_factor(10**6, 10**6, 0.95) == pytest.approx(1.96, abs=0.001)


@pytest.mark.parametrize("members", [2, 4, 10])
def test_the_t_interval_holds_the_truth_as_often_as_it_says(members):
    """Replicates are normal around the estimate, as it is around the truth (0), and their mean is the value."""
    rng = np.random.default_rng(members)
    held = []
    for _ in range(2_000):
        replicates = rng.standard_normal() + rng.standard_normal(members)
        found = make_interval(float(replicates.mean()), replicates, 10_000)
        held.append(found.low <= 0.0 <= found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.016)


def test_many_normal_replicates_give_the_normal_interval():
    replicates = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    for kind in ("percentile", "bca"):
        counts = np.random.default_rng(0).multinomial(500, np.full(500, 1 / 500), 4000)
        found = make_interval(0.0, replicates, 500, 0.9, kind, partial(np.asarray, counts))
        assert found.kind == kind
        assert (found.low, found.high) == pytest.approx((-1.645, 1.645), abs=0.1)


def test_a_level_that_cannot_be_seen_falls_back_to_t():
    replicates = np.random.default_rng(0).standard_normal(400)
    assert make_interval(0.0, replicates, 500, 0.95).kind == "percentile"
    assert make_interval(0.0, replicates, 500, 0.999).kind == "t"


@pytest.mark.parametrize(("count", "level"), [(4, 0.95), (400, 0.95), (400, 0.5)])
def test_what_resamples_do_not_show_is_added_to_each_side_as_variances_add(count, level):
    replicates = np.random.default_rng(0).exponential(size=count)
    plain, wide = (make_interval(1.0, replicates, 100, level, unseen=u) for u in (0.0, 0.3))
    z = stats.norm.ppf(0.5 + level / 2)
    assert 1 - wide.low == pytest.approx(np.hypot(1 - plain.low, z * 0.3))
    assert wide.high - 1 == pytest.approx(np.hypot(plain.high - 1, z * 0.3))
    assert (plain.unseen, wide.unseen) == (0.0, 0.3)


def test_an_error_that_all_replicates_share_is_held_as_often_as_is_said():
    """Truth 0. The estimate is off by the luck of its log, and by something else that is common to all logs."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(2_000):
        replicates = 2.0 * rng.standard_normal() + rng.standard_normal() + rng.standard_normal(20)
        found = make_interval(float(replicates.mean()), replicates, 10_000, unseen=2.0)
        held.append(found.low <= 0.0 <= found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.016)


def test_acceleration_of_a_mean_is_a_sixth_of_its_skewness():
    """Against the exact jackknife: Σd³/(6(Σd²)^1.5) of the deviations from the mean, for a skewed sample."""
    sample = np.random.default_rng(1).exponential(size=N)
    replicates, counts = bootstrap(sample, 4000, 0)
    d = sample - sample.mean()
    assert acceleration(replicates, counts) == pytest.approx((d**3).sum() / (6 * (d**2).sum() ** 1.5), rel=0.02)
    assert acceleration(-replicates, counts) < 0


def test_acceleration_in_groups_has_the_sign_and_size_of_the_exact_one():
    """400 episodes in 50 groups: within the noise of the grouping, 0.65/50."""
    sample = np.random.default_rng(1).exponential(size=400)
    replicates, counts = bootstrap(sample, 400, 0)
    d = sample - sample.mean()
    exact = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    assert acceleration(replicates, counts) == pytest.approx(exact, abs=3 * 0.65 / 50)
    assert acceleration(np.ones(400), counts) == 0.0


def test_bias_correction_counts_what_lies_below():
    replicates = np.arange(100.0)
    assert bias_correction(49.5, replicates) == pytest.approx(0.0, abs=1e-9)
    assert bias_correction(84.0, replicates) == pytest.approx(stats.norm.ppf(0.845), abs=1e-9)
    assert np.isfinite(bias_correction(1e9, replicates))


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_intervals_of_a_mean_hold_it_as_often_as_they_say(kind):
    """100 normal samples of 40: 95 %, within three standard errors of the count."""
    held = []
    for seed in range(100):
        sample = np.random.default_rng(seed).standard_normal(N)
        replicates, counts = bootstrap(sample, 400, seed)
        found = make_interval(float(sample.mean()), replicates, N, 0.95, kind, partial(np.asarray, counts))
        held.append(found.low <= 0.0 <= found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.066)


def test_an_interval_ends_where_the_rewards_do():
    bounds = Bounds(0.0, 100.0)
    wide = Interval(-298.0, 450.0, 0.95, "t", 4, 50)
    assert within(wide, bounds, outside=False) == replace(wide, low=0.0, high=100.0)
    inside = Interval(20.0, 30.0, 0.95, "t", 4, 50)
    assert within(inside, bounds, outside=False) == inside
    nothing = within(Interval(100.0, 100.0, 0.95, "percentile", 400, 50), bounds, outside=True)
    assert (nothing.low, nothing.high, nothing.kind) == (0.0, 100.0, "bounds")
