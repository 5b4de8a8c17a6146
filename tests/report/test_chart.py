"""Figures as data: their ranges, and how panels are taken apart."""

import numpy as np

from ropeval.report.chart import Chart, Entry, Mark, Panel, Series, error_range, joined
from ropeval.report.palette import Style
from ropeval.report.table import Table

STEPS = np.array([1.0, 2.0, 3.0])


def chart(**changes) -> Chart:
    line = Series(
        "fqe", Style("c1"), STEPS, np.array([1.0, 0.5, np.inf]), np.array([0.5, 0.2, 0.1]), np.full(3, np.inf)
    )
    ends = np.array([0.05, 1.0, np.inf]), np.array([0.2, np.inf, np.inf])
    dots = Series("x", Style("c2"), STEPS, np.array([0.1, 5.0, np.inf]), *ends, kind="points")
    panels = [
        Panel("a $ b", [line], [Mark("base", Style("c7", "dot"), 0.3), Mark("lost", Style("c3"), np.inf)]),
        Panel("c", [dots]),
    ]
    made = {
        "slug": "made", "title": "T", "caption": "C.", "panels": panels, "legend": [Entry("fqe", Style("c1"))],
        "x_label": "step", "y_label": "error", "y_log": True, "y_range": (0.05, 2.0),
    }  # fmt: skip
    return Chart(**(made | changes))


def test_the_range_of_errors_is_not_ruled_by_dips_or_divergence():
    low, high = error_range([np.array([1e-9, 0.1, 0.5]), np.array([np.inf, 1e7, np.nan])])
    assert (low, high) == (2e-3, 30.0)
    assert error_range([]) == (0.1, 1.0)
    low, high = error_range([np.array([1e5])])
    assert low < high <= 30.0


def test_faint_lines_are_joined_with_breaks():
    one = joined(
        [Series("m", Style("c1"), STEPS, STEPS, kind="faint"), Series("m", Style("c1"), STEPS, 2 * STEPS, kind="faint")]
    )
    np.testing.assert_array_equal(one.x, [1, 2, 3, np.nan, 1, 2, 3, np.nan])
    np.testing.assert_array_equal(one.y, [1, 2, 3, np.nan, 2, 4, 6, np.nan])


def test_panels_taken_apart_keep_their_axes_and_leave_what_they_share():
    whole = chart(table=Table(["a"], [["b"]]), x_range=(0.0, 4.0))
    first, second = whole.apart()
    assert [one.title for one in (first, second)] == ["a $ b", "c"]
    assert first.panels == whole.panels[:1]
    assert (first.caption, first.legend, first.table) == ("", [], None)
    assert (second.x_range, second.y_range, second.y_log) == ((0.0, 4.0), (0.05, 2.0), True)


def test_when_panels_share_a_scale():
    assert chart().shares_y
    assert not chart().shares_x
    assert chart(same_x=True).shares_x
    assert chart(y_names=["one"], y_range=None).shares_y
    own = [Panel("p", x_range=(0.0, 1.0))]
    assert not chart(panels=own, x_range=(0.0, 2.0)).shares_x
    assert chart(panels=own, x_range=(0.0, 2.0)).limits(own[0]) == ((0.0, 1.0), (0.05, 2.0))


def test_a_band_without_an_end_stays_in_its_panel():
    ends = np.array([0.5, 0.5, 0.5]), np.array([2.0, np.inf, np.inf])
    (panel,) = chart(panels=[Panel("p", [Series("m", Style("c1"), STEPS, STEPS, *ends)])], y_range=None).panels
    assert panel.y_range == (0.5 / 1.25, 1.25 * 3.0)
