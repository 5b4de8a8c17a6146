"""What the figures show, against numbers worked out by hand."""

import numpy as np
import pytest

from ropeval.bench.results.curve_bands import gather
from ropeval.bench.results.report.charts import all_charts
from ropeval.bench.results.report.training import training_charts
from ropeval.bench.results.rows import BASELINES, load_curves, load_rows
from ropeval.bench.results.summary import summarise
from ropeval.bench.run.study import read_study
from ropeval.report.charts import Palette
from tests.bench.studies import curve, hyper, runs, small_study, write_study


def charts_of(folder):
    summary = summarise(load_rows(folder), read_study(folder))
    palette = Palette(summary.methods, BASELINES)
    made = [
        *all_charts(summary, palette),
        *training_charts(summary, gather(load_curves(folder), load_rows(folder)), palette),
    ]
    return {chart.slug: chart for chart in made}


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    return charts_of(small_study(tmp_path_factory.mktemp("study")))


def series(chart, group, panel=0, kind=None):
    return next(s for s in chart.panels[panel].series if s.group == group and kind in (None, s.kind))


def test_errors_over_training_at_the_default_and_at_the_best_setting(charts):
    ends = {c: series(charts[f"errors-discounted-{c}"], "rope+fqe").y[-1] for c in ("default", "best")}
    assert ends == pytest.approx({"default": 0.315, "best": 0.025})
    assert series(charts["errors-mean-reward-best"], "rope+fqe").y[-1] == pytest.approx(0.185)
    levels = {m.group: m.value for m in charts["errors-discounted-default"].panels[0].marks}
    assert levels == pytest.approx({"mean-reward": 0.1, "mean-return": 0.4})


def test_sensitivity_pools_all_runs_that_share_a_value(charts):
    """β = 1 has errors .10 … .13 (X/3) and .30 … .33 (X): the middle half of the eight is .12, .13, .30, .31."""
    chart = charts["sensitivity-beta-discounted"]
    assert list(chart.x_names) == ["0.1", "1.0"]
    points = series(chart, "rope+fqe")
    assert points.y == pytest.approx([(0.03 + 0.04 + 0.21 + 0.22) / 4, 0.215])
    assert np.all((points.low <= points.y) & (points.y <= points.high))
    assert {m.group for m in chart.panels[0].marks} == {"mean-reward", "mean-return", "fqe"}
    assert list(charts["sensitivity-dim-discounted"].x_names) == ["X/3", "X"]


def test_profiles_count_all_settings(charts):
    chart = charts["profiles-discounted"]
    assert [p.title for p in chart.panels] == ["all tasks", "made/one", "made/two"]
    profile = series(chart, "rope+fqe", panel=1)
    below = profile.y[np.searchsorted(profile.x, 0.15, side="right") - 1]
    assert below == pytest.approx(8 / 16)  # X/3 with either β: .01 … .04 and .10 … .13
    assert profile.y[-1] == 1.0
    baseline = series(chart, "mean-return", panel=1)
    assert baseline.low is None  # a single run has no band
    assert baseline.y[np.searchsorted(baseline.x, 0.39)] in (0.0, 1.0)


def test_losses_and_features_show_the_default_and_faintly_the_rest(charts):
    assert series(charts["loss-phi"], "rope+fqe", kind="line").y.tolist() == [0.5, 0.25, 0.125]
    faint = series(charts["loss-phi"], "rope+fqe", kind="faint")
    assert np.isnan(faint.y).sum() == 3  # three other settings
    assert {s.group for s in charts["loss-q"].panels[0].series} == {"fqe", "rope+fqe"}
    assert series(charts["feature-std"], "rope+fqe", kind="line").y == pytest.approx([0.4, 0.2, 0.1])
    assert charts["feature-std"].legend[0].group == "mean-reward (trains nothing)"


def test_sign_patterns_are_counted_on_one_scale_that_begins_at_one(charts):
    chart = charts["feature-codes"]
    assert series(chart, "rope+fqe", kind="line").y == pytest.approx([40.0, 20.0, 10.0])
    assert chart.y_log
    assert chart.y_range == pytest.approx((0.9, 50.0))


def test_a_run_that_became_infinite_does_not_flatten_the_others(tmp_path):
    rows = runs("a", "bcrl+lspe", [110.0, 111.0, 112.0, 113.0]) + runs("b", "bcrl+lspe", [110.0, 111.0])
    curves = [c for one in rows for c in curve(one, "bcrl", "feature_std", {1: 2.0, 2: 4.0})]
    curves += [c for one in rows[:3] for c in curve(one, "bcrl", "loss", {1: 8.0, 2: 2.0})]
    curves += curve(rows[3], "bcrl", "loss", {1: 8.0, 2: float("inf")})
    made = charts_of(write_study(tmp_path, rows, curves))
    panel = made["loss-phi"].panels[0]
    assert np.isinf(panel.series[-1].high).any()  # else this tests nothing
    assert panel.y_range == pytest.approx((2.0 / 1.25, 10.0))
    assert all(panel.y_range is None for panel in made["feature-std"].panels)


def test_the_captions_of_features_say_what_saturation_looks_like(charts):
    assert "Near 0, the features are constant" in charts["feature-std"].caption
    assert "A large one is no sign of health" in charts["feature-std"].caption
    assert "Near 1 in methods that end in tanh, the features are saturated" in charts["feature-size"].caption
    assert "how many different inputs the estimator is left with" in charts["feature-codes"].caption


def test_a_task_on_which_nothing_recorded_a_metric_has_no_panel_of_it(tmp_path):
    """`a` has an encoder without sign patterns, `b` one with them, `c` has none, and on `d` nothing was trained."""
    rows = [r for task in ("a", "b") for r in runs(task, "rope+fqe", [110.0, 111.0])]
    rows += runs("c", "fqe", [110.0, 111.0]) + [r for task in "abcd" for r in runs(task, "mean-reward", [90.0])]
    curves = []
    for one in rows[:6]:
        curves += curve(one, "fqe", "estimate", {1: 0.0, 2: 110.0})
    for one in rows[:4]:
        curves += curve(one, "rope", "feature_size", {1: 0.5, 2: 1.0})
    for one in rows[2:4]:
        curves += curve(one, "rope", "feature_codes", {1: 9.0, 2: 4.0})
    made = charts_of(write_study(tmp_path, rows, curves))
    assert [panel.title for panel in made["feature-size"].panels] == ["a", "b"]
    assert [panel.title for panel in made["feature-codes"].panels] == ["b"]
    assert [panel.title for panel in made["errors-discounted-default"].panels] == ["a", "b", "c"]
    assert "feature-std" not in made
    assert "loss-phi" not in made


def test_both_truths_and_every_estimate(charts):
    panel = charts["estimates"].panels[0]
    assert {m.group: m.value for m in panel.marks} == {
        "discounted return": 100.0, "mean reward/(1−γ)": 150.0, "random policy, discounted": 0.0,
    }  # fmt: skip
    assert sorted(series(charts["estimates"], "fqe").x) == [101.0, 102.0, 103.0, 104.0]
    dots = [
        s for s in charts["two-truths"].panels[0].series if s.kind == "dots" and s.y[0] == 2
    ]  # fqe, third from the top
    assert {s.group: s.x[0] for s in dots} == pytest.approx({"discounted return": 0.025, "mean reward/(1−γ)": 0.475})


def test_a_method_that_diverged_is_named_and_not_passed_over(tmp_path):
    rows = runs("t", "fqe", [None, None]) + runs("t", "mean-reward", [90.0])
    for value in (1, 2):
        rows += runs("t", "rope+fqe", [110.0, 111.0], hyper=hyper(rope__new=value), default=value == 1)
    made = charts_of(write_study(tmp_path, rows))
    chart = made["sensitivity-new-discounted"]  # a setting nobody knew of
    assert {m.group: m.value for m in chart.panels[0].marks}["fqe"] == np.inf
    assert np.isinf(series(made["estimates"], "fqe").x).all()
    assert series(made["profiles-discounted"], "fqe").y.max() == 0.0


def test_where_the_error_is_undefined_the_panel_says_so(tmp_path):
    rows = runs("t", "fqe", [1.0, 2.0], truth_discounted=5.0, random_discounted=5.0)
    panel = charts_of(write_study(tmp_path, rows))["profiles-discounted"].panels[0]
    assert not panel.series
    assert panel.note == "RMAE is undefined"
