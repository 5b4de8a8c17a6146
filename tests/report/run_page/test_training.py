"""Training as charts, from curves made up by hand: value·step/100 + 0.1 + member."""

import numpy as np
import pytest

from ropeval.report.run_page import Outcome, draw_curves, read_outcome
from ropeval.report.run_page.outcome import Curve, Trace
from ropeval.report.run_page.training import (
    MOST_POINTS,
    estimates_chart,
    feature_chart,
    feature_table,
    loss_chart,
    thinned,
)
from tests.report.outcomes import estimate, estimates, folder


@pytest.fixture
def outcome(tmp_path) -> Outcome:
    return read_outcome(folder(tmp_path), {"left": 9.0})


def test_the_mean_of_the_members_within_their_range_and_lines_for_the_rest(outcome):
    chart = estimates_chart(outcome)
    left = chart.panels[0]
    fqe, rope = left.series
    np.testing.assert_allclose(fqe.y, [0.6, 5.6, 10.6], rtol=1e-6)
    np.testing.assert_allclose(fqe.low, [0.1, 5.1, 10.1], rtol=1e-6)
    np.testing.assert_allclose(fqe.high, [1.1, 6.1, 11.1], rtol=1e-6)
    assert rope.group == "rope+fqe"
    assert {mark.group: mark.value for mark in left.marks} == {"mean-reward": 5.0, "true value": 9.0}
    assert left.y_range is None
    assert chart.x_range == (0.0, 100.0)
    assert [cell.text for cell in chart.table.cells()[0]] == ["left", "fqe", "0.6", "5.6", "5.6", "10.6"]


def test_a_curve_that_diverged_leaves_the_picture_instead_of_flattening_it():
    steps = np.array([0, 10])
    curves = {
        Trace("p", "fqe", "fqe", "estimate"): Curve(steps, np.array([[1.0, 1.0], [2.0, 3.0]])),
        Trace("p", "lspe", "lspe", "estimate"): Curve(steps, np.array([[1.0, 1.0], [1e9, 1e9]])),
    }
    outcome = Outcome([estimate("p", "fqe", 2.5), estimate("p", "lspe", None)], curves=curves)
    (panel,) = estimates_chart(outcome).panels
    assert panel.y_range == pytest.approx((1.0 - 0.16, 3.0 + 0.16))
    assert [series.style.dash for series in panel.series] == ["solid", "dot"]
    assert panel.series[1].low is None


def test_losses_of_all_parts_colour_for_the_method_and_dashes_for_the_policy(outcome):
    chart = loss_chart(outcome)
    drawn = {series.label: series.style for series in chart.panels[0].series}
    assert set(drawn) == {
        f"{p}, {m}" for p in ("left", "right") for m in ("fqe (fqe)", "rope+fqe (rope)", "rope+fqe (fqe)")
    }
    assert drawn["left, fqe (fqe)"].colour == drawn["right, fqe (fqe)"].colour != drawn["left, rope+fqe (fqe)"].colour
    assert drawn["left, fqe (fqe)"].dash != drawn["right, fqe (fqe)"].dash
    assert [entry.group for entry in chart.legend] == ["fqe", "rope+fqe"]
    assert chart.y_log


def test_features_from_zero_and_their_last_values(outcome):
    chart, table = feature_chart(outcome), feature_table(outcome)
    assert chart.y_range == pytest.approx((0.0, 1.05 * 8.6))
    assert table.columns[3:] == ["std of a feature", "mean |feature|"]
    assert [cell.text for cell in table.cells()[0]] == ["left", "rope+fqe", "rope", "8.6", "8.6"]


def test_without_curves_there_is_nothing_to_draw(tmp_path):
    bare = Outcome(estimates())
    assert all(made(bare) is None for made in (estimates_chart, loss_chart, feature_chart, feature_table))
    (folder(tmp_path) / "curves.parquet").unlink()
    draw_curves(tmp_path)
    assert not (tmp_path / "curves.png").exists()


def test_the_picture_beside_the_page(tmp_path):
    draw_curves(folder(tmp_path))
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_long_curves_are_thinned_and_keep_their_ends():
    long = Curve(np.arange(1000), np.arange(1000.0)[:, None])
    short = thinned(long)
    assert len(short.steps) == MOST_POINTS
    assert (short.steps[0], short.steps[-1]) == (0, 999)
