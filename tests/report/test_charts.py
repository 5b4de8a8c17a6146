"""Figures as data, on paper and on the page."""

import numpy as np
import pytest

from ropeval.report.charts import (
    Chart,
    Entry,
    Mark,
    Palette,
    Panel,
    Series,
    Style,
    error_range,
    joined,
    log_ticks,
    short_number,
    shown,
    slugs,
)
from ropeval.report.draw import draw
from ropeval.report.html.chart import to_figure

STEPS = np.array([1.0, 2.0, 3.0])


def chart(**changes) -> Chart:
    line = Series("fqe", Style(1), STEPS, np.array([1.0, 0.5, np.inf]), np.array([0.5, 0.2, 0.1]), np.full(3, np.inf))
    ends = np.array([0.05, 1.0, np.inf]), np.array([0.2, np.inf, np.inf])
    dots = Series("x", Style(2), STEPS, np.array([0.1, 5.0, np.inf]), *ends, kind="points")
    panels = [
        Panel("a $ b", [line], [Mark("base", Style(7, "dot"), 0.3), Mark("lost", Style(3), np.inf)]),
        Panel("c", [dots]),
    ]
    made = {
        "slug": "made", "title": "T", "caption": "C.", "panels": panels, "legend": [Entry("fqe", Style(1))],
        "x_label": "step", "y_label": "error", "y_log": True, "y_range": (0.05, 2.0),
    }  # fmt: skip
    return Chart(**(made | changes))


def test_a_method_s_style_depends_on_the_order_alone_and_no_two_are_the_same():
    methods = [f"m{i}" for i in range(20)]
    palette = Palette(["base", *methods], baselines=["base", "absent"])
    styles = [palette[m] for m in ["base", *methods]]
    assert len(set(styles)) == len(styles)
    assert palette["base"].colour == 7
    assert all(palette[m].colour != 7 for m in methods)
    assert Palette(methods)["m3"] == palette["m3"]


def test_file_names_are_safe_and_different():
    assert slugs(["a/b", "a b", "../..", "", "Ü"]) == {
        "a/b": "a-b",
        "a b": "a-b-2",
        "../..": "unnamed",
        "": "unnamed-2",
        "Ü": "unnamed-3",
    }


def test_the_range_of_errors_is_not_ruled_by_dips_or_divergence():
    low, high = error_range([np.array([1e-9, 0.1, 0.5]), np.array([np.inf, 1e7, np.nan])])
    assert (low, high) == (2e-3, 30.0)
    assert error_range([]) == (0.1, 1.0)
    low, high = error_range([np.array([1e5])])
    assert low < high <= 30.0


@pytest.mark.parametrize(
    ("limits", "ticks"), [((0.01, 10), [0.01, 0.1, 1, 10]), ((0.2, 0.9), [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])]
)
def test_logarithmic_ticks(limits, ticks):
    found = log_ticks(*limits)
    assert 3 <= len(found) <= 7
    assert all(any(abs(f - t) < 1e-9 for t in ticks) for f in found)


def test_numbers_are_short():
    texts = [short_number(v) for v in (300_000, 1e6, 0.05, -2.5, 0, 1e-6, 5e12)]
    assert texts == ["300K", "1M", "0.05", "−2.5", "0", "1e-6", "5e12"]


def test_names_are_shown_in_one_line():
    assert shown("a\nb\u202ec") == "a b c"
    assert len(shown("x" * 100)) == 34


def test_faint_lines_are_joined_with_breaks():
    one = joined(
        [Series("m", Style(1), STEPS, STEPS, kind="faint"), Series("m", Style(1), STEPS, 2 * STEPS, kind="faint")]
    )
    np.testing.assert_array_equal(one.x, [1, 2, 3, np.nan, 1, 2, 3, np.nan])
    np.testing.assert_array_equal(one.y, [1, 2, 3, np.nan, 2, 4, 6, np.nan])


def test_a_chart_on_paper(tmp_path):
    png, pdf = draw(chart(), tmp_path, ["png", "pdf"], "made with a command on a device at commit abc1234")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert b"abc1234" in png.read_bytes()
    assert pdf.read_bytes()[:5] == b"%PDF-"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["$x_1$ $", "\\frac{", "名前", "a\nb", "x" * 300, ""])
def test_any_name_can_be_drawn(tmp_path, name):
    style = Style(1)
    panel = Panel(name, [Series(name, style, STEPS, STEPS)], [Mark(name, style, np.inf)])
    made = chart(panels=[panel], legend=[Entry(name, style)], title=f"t {name}", x_names=[name], y_log=False)
    assert draw(made, tmp_path, ["png"], name)[0].exists()


def test_a_chart_with_names_on_its_axis(tmp_path):
    dots = Series("m", Style(1), np.array([1.0, -50.0, np.inf]), np.array([0.0, 0.0, 1.0]), kind="dots")
    made = chart(panels=[Panel("p", [dots], x_range=(0.0, 2.0))], y_names=["$one", "two"], y_log=False, y_range=None)
    assert draw(made, tmp_path, ["png"], "")[0].stat().st_size > 1000
    (trace,) = to_figure(made).traces
    assert trace["x"].tolist() == [1.0, 0.0, 2.0]  # on the edges
    assert trace["marker"]["symbol"][2] == "triangle-right"


def test_a_chart_on_the_page():
    figure = to_figure(chart(), source="abc1234")
    by_name = {(t["name"], t.get("fill")): t for t in figure.traces}
    assert by_name["base", None]["y"].tolist() == [0.3, 0.3]
    assert len(by_name["fqe", "toself"]["x"]) == 6
    assert by_name["x", None]["y"].tolist() == [0.1, 2.0, 2.0]
    assert by_name["x", None]["marker"]["symbol"] == ["circle", "triangle-up", "triangle-up"]
    words = [a["text"] for a in figure.layout["annotations"]]
    assert "▲ lost diverged" in words
    assert figure.layout["yaxis"]["range"] == pytest.approx([np.log10(0.05), np.log10(2.0)])
    assert "abc1234" in figure.caption
    assert [s.name for s in figure.series] == ["fqe"]
