"""Statistics against answers that are known, against a second way of computing, and against the rliable package."""

import itertools

import numpy as np
import pytest
from scipy.stats import trim_mean

from ropeval.bench.results.scores import (
    Interval,
    interval_over,
    iqm,
    iqm_interval,
    performance_profile,
    quantiles,
    relative_errors,
    resampled_iqm,
    with_interval,
)


def test_the_error_is_measured_in_units_of_the_gap_to_the_random_policy():
    errors = relative_errors([100.0, 80.0, 150.0], [False, False, False], truth=100.0, random=20.0)
    assert errors.tolist() == [0.0, 20 / 80, 50 / 80]


def test_a_random_policy_that_is_better_changes_the_sign_of_nothing():
    assert relative_errors([-30.0], [False], truth=-40.0, random=-20.0).tolist() == [0.5]


def test_diverged_runs_have_an_infinite_error_whatever_they_estimated():
    errors = relative_errors([100.0, np.nan, np.inf, 90.0], [True, False, False, False], 100.0, 0.0)
    assert errors.tolist() == [np.inf, np.inf, np.inf, 0.1]


@pytest.mark.parametrize(("truth", "random"), [(5.0, 5.0), (np.nan, 0.0), (1.0, np.nan), (np.inf, 0.0), (0.0, 0.0)])
def test_an_undefined_error_is_none(truth, random):
    assert relative_errors([1.0], [False], truth, random) is None


def test_a_truth_of_zero_is_fine_while_the_random_policy_differs():
    assert relative_errors([1.0], [False], truth=0.0, random=-4.0).tolist() == [0.25]


def test_iqm_by_hand():
    assert iqm([1.0, 2.0, 3.0, 100.0]) == 2.5
    assert iqm([7.0]) == 7.0
    assert iqm([3.0, 1.0, 2.0]) == 2.0  # a quarter of three is nobody


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20, 21])
def test_iqm_is_scipy_s_trimmed_mean(count):
    values = np.random.default_rng(count).normal(size=(count, 5))
    np.testing.assert_allclose(iqm(values, axis=0), trim_mean(values, 0.25, axis=0), rtol=1e-12)
    np.testing.assert_allclose(iqm(values), trim_mean(values, 0.25, axis=None), rtol=1e-12)


@pytest.mark.parametrize(("lost", "diverged"), [(0, False), (5, False), (6, True), (20, True)])
def test_a_method_diverged_once_more_than_a_quarter_of_its_runs_did(lost, diverged):
    errors = np.r_[np.full(lost, np.inf), np.ones(20 - lost)]
    found = iqm_interval([errors])
    assert found.diverged is diverged
    assert found.value == (np.inf if diverged else 1.0)
    assert not np.isnan(found).any()


def test_the_interval_of_few_runs_is_that_of_all_resamples():
    """With three runs all 27 resamples can be listed."""
    values = np.array([1.0, 2.0, 4.0])
    every = np.array([np.mean(drawn) for drawn in itertools.product(values, repeat=3)])
    found = iqm_interval([values], resamples=200_000)
    low, high = np.quantile(every, [0.025, 0.975], method="inverted_cdf")
    assert (found.value, found.low, found.high) == pytest.approx((7 / 3, low, high), abs=0.05)


def test_strata_are_drawn_apart():
    """Within each stratum nothing varies, so no resample differs; drawn together, almost every one would."""
    assert iqm_interval([[1.0] * 4, [3.0] * 4]) == Interval(2.0, 2.0, 2.0)


@pytest.mark.parametrize("centre", ["mean", "median", "iqm"])
def test_whole_groups_are_drawn_together(centre):
    """Two groups have three different resamples: the first twice, both (half of the time), the second twice."""
    found = interval_over([[1.0, 1.0], [3.0, 3.0]], centre)
    assert found == Interval(2.0, 1.0, 3.0)


def test_centres_of_groups_of_different_sizes():
    groups = [[1.0, 2.0, 9.0], [4.0], [], [6.0, 8.0, 100.0]]
    values = np.concatenate([np.asarray(g, float) for g in groups])
    assert interval_over(groups, "mean").value == pytest.approx(values.mean())
    assert interval_over(groups, "median").value == np.median(values)
    assert interval_over(groups, "iqm").value == pytest.approx(float(iqm(values)))
    assert interval_over([[5.0, 7.0]], "mean") == Interval(6.0, 6.0, 6.0)
    assert np.isnan(interval_over([[], []], "median")).all()


def test_the_interval_over_few_groups_is_that_of_all_resamples():
    groups = np.array([[1.0, 5.0], [2.0, 8.0], [4.0, 4.0]])
    every = np.sort([np.median(np.concatenate(drawn)) for drawn in itertools.product(groups, repeat=3)])
    found = interval_over(list(groups), "median", resamples=100_000)
    low, high = np.quantile(every, [0.025, 0.975], method="inverted_cdf")
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.05)


def test_one_run_has_no_width():
    assert iqm_interval([[0.3]]) == Interval(0.3, 0.3, 0.3)


def test_resamples_keep_whole_runs_together():
    """A curve's points move together: column 2 is always twice column 1."""
    runs = np.array([[1.0, 2.0], [5.0, 10.0], [7.0, 14.0]])
    samples = resampled_iqm(runs, resamples=50)
    assert samples.shape == (50, 2)
    np.testing.assert_allclose(samples[:, 1], 2 * samples[:, 0])


def test_quantiles_are_numpy_s_and_bear_infinities():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(37, 3))
    np.testing.assert_allclose(quantiles(samples, 0.1, 0.9), np.quantile(samples, [0.1, 0.9], axis=0))
    mixed = np.array([1.0, 2.0, np.inf, np.inf])
    assert [float(q) for q in quantiles(mixed, 0.0, 1 / 3, 0.5, 1.0)] == [1.0, 2.0, np.inf, np.inf]


def test_with_interval_takes_the_percentiles():
    assert with_interval(5.0, np.arange(41.0)) == pytest.approx((5.0, 1.0, 39.0))


def test_a_profile_counts_runs():
    profile = performance_profile([[0.1, 0.2, np.inf], [0.2]], [0.0, 0.1, 0.2, 100.0])
    assert profile.share.tolist() == [0.0, 0.25, 0.75, 0.75]
    assert profile.low[0] == profile.high[0] == 0.0  # nobody there to draw
    assert profile.high[3] == 1.0  # the three of the first stratum may all be drawn from those that converged


def test_a_profile_s_band_is_that_of_simulated_resamples():
    rng = np.random.default_rng(3)
    strata = [rng.lognormal(size=n) for n in (20, 20, 13)]
    limits = np.linspace(0.2, 3, 15)
    found = performance_profile(strata, limits)
    drawn = [s[rng.integers(len(s), size=(40_000, len(s)))] for s in strata]
    shares = np.mean(np.concatenate(drawn, axis=1)[:, :, None] <= limits, axis=1)
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(found.low, low, atol=1.01 / 53)  # one run more or less
    np.testing.assert_allclose(found.high, high, atol=1.01 / 53)


class TestAgainstRliable:
    """The package that the paper used, on the same numbers."""

    @pytest.fixture
    def scores(self) -> np.ndarray:
        return np.random.default_rng(5).lognormal(size=(20, 6))  # [runs, tasks]

    def test_iqm(self, scores):
        metrics = pytest.importorskip("rliable.metrics", reason="rliable is not installed")
        assert float(iqm(scores)) == pytest.approx(metrics.aggregate_iqm(scores), rel=1e-12)

    def test_intervals(self, scores):
        library = pytest.importorskip("rliable.library", reason="rliable is not installed")
        metrics = pytest.importorskip("rliable.metrics", reason="rliable is not installed")
        np.random.seed(0)  # noqa: NPY002 - rliable draws from the global generator
        value, ends = library.get_interval_estimates(
            {"m": scores}, lambda s: np.array([metrics.aggregate_iqm(s)]), reps=4_000
        )
        found = iqm_interval(list(scores.T), resamples=4_000)
        width = found.high - found.low
        assert found.value == pytest.approx(value["m"][0], rel=1e-12)
        assert found.low == pytest.approx(ends["m"][0, 0], abs=0.05 * width)
        assert found.high == pytest.approx(ends["m"][1, 0], abs=0.05 * width)

    def test_profiles(self, scores):
        library = pytest.importorskip("rliable.library", reason="rliable is not installed")
        limits = np.linspace(0.1, 4, 12)
        np.random.seed(0)  # noqa: NPY002
        above, ends = library.create_performance_profile({"m": scores}, limits, reps=2_000)
        found = performance_profile(list(scores.T), limits)
        np.testing.assert_allclose(found.share, 1 - above["m"], atol=1e-12)  # theirs counts scores above
        np.testing.assert_allclose(found.low, 1 - ends["m"][1], atol=2.01 / scores.size)
        np.testing.assert_allclose(found.high, 1 - ends["m"][0], atol=2.01 / scores.size)
