"""What the figures show, against numbers worked out by hand."""

import numpy as np
import pytest

from tests.bench.results.report.conftest import charts_of, series
from tests.bench.studies import hyper, runs, write_study


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
