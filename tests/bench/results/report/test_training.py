"""What the figures of training show, against numbers worked out by hand."""

import numpy as np
import pytest

from tests.bench.results.report.conftest import charts_of, series
from tests.bench.studies import curve, runs, write_study


def test_errors_over_training_at_the_default_and_at_the_best_setting(charts):
    ends = {c: series(charts[f"errors-discounted-{c}"], "rope+fqe").y[-1] for c in ("default", "best")}
    assert ends == pytest.approx({"default": 0.315, "best": 0.025})
    assert series(charts["errors-mean-reward-best"], "rope+fqe").y[-1] == pytest.approx(0.185)
    levels = {m.group: m.value for m in charts["errors-discounted-default"].panels[0].marks}
    assert levels == pytest.approx({"mean-reward": 0.1, "mean-return": 0.4})


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


def test_curves_that_were_stopped_too_early_say_so(tmp_path):
    rows = runs("a", "fqe", [110.0]) + runs("a", "lspe", [110.0]) + runs("a", "mean-reward", [90.0])
    curves = curve(rows[0], "fqe", "estimate", {step: 10.0 * step for step in range(16)})
    curves += curve(rows[1], "lspe", "estimate", dict.fromkeys(range(16), 110.0))
    made = charts_of(write_study(tmp_path, rows, curves))["errors-discounted-default"]
    assert made.panels[0].corner == "not converged: fqe"
    assert [s.label for s in made.panels[0].series] == ["fqe (not converged)", ""]
    assert "Not converged: the estimate still moved by more than 5%" in made.caption
