"""Charts on the page: the same panels as Plotly's traces and axes."""

import numpy as np
import pytest

from ropeval.report.chart import Mark, Panel, Series
from ropeval.report.draw_page import LINE, to_plotly
from ropeval.report.palette import Style
from tests.report.test_chart import STEPS, chart


def test_lines_bands_marks_and_points_beyond_the_panel():
    figure = to_plotly(chart())
    by_name = {(t["name"], t.get("fill")): t for t in figure["data"]}
    assert by_name["base", None]["y"].tolist() == [0.3, 0.3]
    assert len(by_name["fqe", "toself"]["x"]) == 6
    assert by_name["x", None]["y"].tolist() == [0.1, 2.0, 2.0]
    assert by_name["x", None]["marker"]["symbol"] == ["circle", "triangle-up", "triangle-up"]
    words = [a["text"] for a in figure["layout"]["annotations"]]
    assert words == ["a $ b", "▲ diverged: lost", "c"]
    low, high = figure["layout"]["yaxis"]["range"]
    assert (low, high) == pytest.approx((np.log10(0.05), np.log10(2.0)), abs=1e-3)
    assert low < np.log10(0.05)  # else rounding would put what lies on the edge outside
    assert high > np.log10(2.0)


def test_names_on_the_axis_turn_bars_and_arrows():
    dots = Series("m", Style("c1"), np.array([1.0, -50.0, np.inf]), np.array([0.0, 0.0, 1.0]), kind="dots")
    ends = np.array([0.5]), np.array([1.75])
    bar = Series("n", Style("c2"), np.array([1.0]), np.array([1.0]), *ends, kind="points", words=["said"])
    made = chart(
        panels=[Panel("p", [dots, bar], x_range=(0.0, 2.0))], y_names=["one", "two"], y_log=False, y_range=None
    )
    first, second = to_plotly(made)["data"]
    assert first["x"].tolist() == [1.0, 0.0, 2.0]  # on the edges
    assert first["marker"]["symbol"] == ["circle", "triangle-left", "triangle-right"]
    assert "error_y" not in second
    assert (second["error_x"]["array"].tolist(), second["error_x"]["arrayminus"].tolist()) == ([0.75], [0.5])
    assert second["text"] == ["said"]


def test_a_remark_that_does_not_fit_beside_the_title_stands_above_it():
    series = [Series("m", Style("c1"), STEPS, STEPS)]
    panels = [Panel("tiny/pendulum-cautious", series, remark=said) for said in ("ok", "not converged: fqe, fqe-clip")]
    layout = to_plotly(chart(panels=panels, y_log=False))["layout"]
    title, short, _, long = layout["annotations"]
    assert [words.get("yshift", 0) for words in (title, short, long)] == [0, 0, LINE]
    assert layout["margin"]["t"] == 26 + LINE


def test_panels_with_one_scale_move_together_and_only_the_lowest_has_ticks():
    panels = [Panel(name, [Series("m", Style("c1"), STEPS, STEPS)]) for name in "ab"]
    layout = to_plotly(chart(panels=panels, same_x=True, columns=1, y_log=False, y_range=None))["layout"]
    assert layout["xaxis2"]["matches"] == "x"
    assert [layout[a]["showticklabels"] for a in ("xaxis", "xaxis2")] == [False, True]
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]  # the first on top


def test_panels_of_different_scales_have_ticks_of_their_own():
    """Four panels in two rows: the upper ones cannot be read by the ticks below them."""
    panels = [Panel(n, [Series("m", Style("c1"), STEPS, STEPS)], x_range=(0.0, k)) for k, n in enumerate("abcd", 1)]
    layout = to_plotly(chart(panels=panels, y_log=False))["layout"]
    assert all(layout[f"xaxis{i}"]["showticklabels"] for i in ("", 2, 3, 4))


def test_a_logarithmic_axis_without_a_range_has_ticks_where_the_numbers_are():
    panel = Panel("p", [Series("m", Style("c1"), STEPS, np.array([0.3, np.nan, 0.65]))])
    axis = to_plotly(chart(panels=[panel], y_range=None))["layout"]["yaxis"]
    assert "range" not in axis
    assert axis["ticktext"] == ["0.3", "0.4", "0.5", "0.6"]


def test_a_name_is_never_part_of_a_template():
    """Plotly would read %{y} in a hover template; names come in beside it."""
    panel = Panel("p", [Series("%{y}", Style("c1"), STEPS, STEPS)], [Mark("<b>", Style("c2"), 1.0)])
    for trace in to_plotly(chart(panels=[panel], x_label="%{x} step", y_log=False))["data"]:
        assert trace["hovertemplate"].startswith("%{meta[0]}: ")
        assert trace["name"] not in trace["hovertemplate"]
        assert trace["meta"] == [trace["name"], "%{x} step"]


def test_a_title_is_said_once():
    made = chart().apart()[1]
    assert to_plotly(made)["layout"]["annotations"] == []
