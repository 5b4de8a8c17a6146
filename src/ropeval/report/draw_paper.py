"""Charts on paper: Matplotlib figures with one legend, and below them where they come from."""

import math
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.files import write_atomically
from ropeval.report import labels
from ropeval.report.chart import Chart, Panel, Range, Series
from ropeval.report.labels import LONGEST, log_ticks, short_number
from ropeval.report.palette import LIGHT, Style

DASHES = {"solid": "-", "dash": (0, (5, 2)), "dashdot": (0, (5, 1.6, 1.2, 1.6)), "dot": (0, (1.2, 1.6))}
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "hexagon": "h", "cross": "P", "x": "X",
    "line-ns": "|",
}  # fmt: skip
WIDTHS, HEIGHT = {1: 6.0, 2: 4.4}, 2.35  # of a panel, in inches; one or two alone are wider
WIDTH = 3.3
MUTED, GRID, AXIS = LIGHT["muted"], LIGHT["grid"], "#aab2bd"


def draw(chart: Chart, folder: Path, formats: list[str], source: str) -> list[Path]:
    """Writes folder/SLUG.png and .pdf. `source`: command, hardware, commit, printed below the picture."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = chart.columns or _columns(len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    names = max((len(shown(n)) for n in chart.y_names or ()), default=0)
    panel_height = max(HEIGHT, 0.21 * len(chart.y_names) + 0.5) if chart.y_names else HEIGHT
    left, right = (0.35 + 0.075 * names if names else 0.75), 0.2
    top, gap_x, gap_y = 0.75, 0.3 if chart.shares_y else 0.6, 0.42 if chart.shares_x else 0.6
    panel_width = WIDTHS.get(columns, WIDTH)
    width = left + right + columns * panel_width + (columns - 1) * gap_x
    letters = int((width - left - right) * 17)  # in a line of small print
    words = [*textwrap.wrap(chart.caption, letters), *textwrap.wrap(source, letters)]
    legend_rows = math.ceil(len(chart.legend) / _legend_columns(chart, width))
    bottom = 0.6 + 0.21 * legend_rows + 0.16 * len(words)
    height = top + bottom + rows * panel_height + (rows - 1) * gap_y
    with rc_context({"font.size": 8.5, "axes.titlesize": 9, "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=chart.same_x).ravel()
        edges = (left / width, bottom / height, 1 - right / width, 1 - top / height)
        figure.subplots_adjust(*edges, gap_x / panel_width, gap_y / panel_height)
        for place, axis in enumerate(axes):
            if place >= len(chart.panels):
                axis.set_visible(False)
                continue
            _panel(axis, chart, chart.panels[place])
            _labels(axis, chart, place % columns == 0, place + columns >= len(chart.panels))
        title = shown(chart.title, 120)
        size = min(12.0, 12.0 * (width - left) / (0.112 * len(title)))
        figure.text(left / width, 1 - 0.14 / height, title, size=size, weight="bold", va="top")
        middle = (left + (width - left - right) / 2) / width
        figure.text(middle, (bottom - 0.36) / height, plain(chart.x_label), ha="center", va="top")
        _legend(figure, chart, legend_rows, (middle, (bottom - 0.52) / height))
        for place, text in enumerate(words):
            figure.text(left / width, (0.16 * (len(words) - place) - 0.02) / height, plain(text), size=7, color=MUTED)
        return [save(figure, folder / f"{chart.slug}.{kind}", source) for kind in formats]


def _columns(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3 if panels <= 9 else 4


def _panel(axis: Any, chart: Chart, panel: Panel) -> None:
    axis.set_title(shown(panel.title), loc="left", pad=4)
    axis.grid(color=GRID, lw=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color(AXIS)
    axis.tick_params(length=2.5, color=AXIS, labelcolor=MUTED)
    if chart.x_log:
        axis.set_xscale("log")
    if chart.y_log:
        axis.set_yscale("log", nonpositive="mask")
    x_range, y_range = chart.limits(panel)
    if x_range:
        axis.set_xlim(*x_range)
    if y_range:
        axis.set_ylim(*y_range)
    _draw_marks(axis, panel)
    for series in panel.series:
        _draw_series(axis, series, chart, x_range, y_range)
    if not panel.series and not panel.marks:
        axis.text(0.5, 0.5, panel.note or "nothing to show", transform=axis.transAxes, ha="center", color=MUTED)
    _ticks(axis, chart)


def _draw_marks(axis: Any, panel: Panel) -> None:
    for mark in panel.marks:
        if np.isfinite(mark.value):
            across = axis.axhline if mark.axis == "y" else axis.axvline
            across(mark.value, **_line(mark.style, 1.4), zorder=2.5)
    if panel.corner:
        axis.set_title(panel.corner, loc="right", size=7, pad=4, color=MUTED)


def _draw_series(axis: Any, series: Series, chart: Chart, x_range: Range | None, y_range: Range | None) -> None:
    colour, marker = LIGHT[series.style.colour], MARKERS[series.style.symbol]
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    finite = np.where(np.isfinite(y), y, np.nan)
    if series.kind in ("line", "step", "faint"):
        stairs = {"drawstyle": "steps-post"} if series.kind == "step" else {}
        thin = series.kind == "faint"
        axis.plot(x, finite, **_line(series.style, 0.6 if thin else 1.5), alpha=0.45 if thin else 1.0, **stairs)
        if series.low is not None and series.high is not None:
            high = np.where(np.isfinite(series.high), series.high, np.finfo(np.float32).max)
            low = np.where(np.isfinite(series.low), series.low, np.nan)
            step = "post" if series.kind == "step" else None
            axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0, step=step)
        return
    inside = np.isfinite(x) & np.isfinite(y)
    if y_range:
        inside &= (y >= y_range[0]) & (y <= y_range[1])
    if x_range:
        inside &= (x >= x_range[0]) & (x <= x_range[1])
    if series.kind == "points":
        axis.plot(x, np.where(inside, finite, np.nan), color=colour, lw=0.9, alpha=0.6)
        if series.low is not None and series.high is not None:
            top = np.where(np.isfinite(series.high), series.high, np.finfo(np.float32).max)
            across, at = (axis.vlines, x) if chart.y_names is None else (axis.hlines, y)
            across(at[inside], series.low[inside], top[inside], color=colour, lw=1.3)
    thin = series.kind == "cloud"
    size = 2.2 if thin else 4.7 if series.kind == "points" else 3.9 if len(x) > 1 else 5.5
    axis.plot(x[inside], y[inside], marker, ms=size, color=colour, mew=0, alpha=0.4 if thin else 0.85, zorder=3)
    if y_range:
        _arrows(axis, x[y > y_range[1]], y_range[1], "^", colour, vertical=True)
    elif x_range:
        _arrows(axis, y[~(x <= x_range[1])], x_range[1], ">", colour, vertical=False)
        _arrows(axis, y[x < x_range[0]], x_range[0], "<", colour, vertical=False)


def _arrows(axis: Any, at: np.ndarray, edge: float, marker: str, colour: str, vertical: bool) -> None:
    """Points beyond the panel: one arrow at its edge, or one for each of a few that lie apart; how many, if several."""
    for where in np.unique(np.round(at)):
        count = int(np.sum(np.round(at) == where))
        middle = float(np.mean(at[np.round(at) == where]))
        place = (middle, edge) if vertical else (edge, middle)
        look = {"ms": 5.1, "mfc": "white", "mec": colour, "mew": 1.1, "clip_on": False, "zorder": 4}
        axis.plot(*([v] for v in place), marker, **look)
        if count > 1:
            side = (0, -9) if vertical else (-9, 0) if marker == ">" else (9, 0)
            axis.annotate(
                str(count), place, side, textcoords="offset points", size=6.5, color=colour, ha="center", va="center"
            )


def _ticks(axis: Any, chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    for scale, logarithmic, limits in (
        (axis.xaxis, chart.x_log, axis.get_xlim()), (axis.yaxis, chart.y_log, axis.get_ylim()),
    ):  # fmt: skip
        if logarithmic:
            scale.set_ticks(log_ticks(*limits))
            scale.set_minor_locator(NullLocator())
            scale.set_minor_formatter(NullFormatter())
        else:
            scale.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        percent = chart.y_percent and scale is axis.yaxis
        form = (lambda value, _: f"{value:.0%}") if percent else (lambda value, _: short_number(value))
        scale.set_major_formatter(FuncFormatter(form))
    if chart.x_names is not None:
        axis.set_xticks(range(len(chart.x_names)), [shown(str(n), 12) for n in chart.x_names])
    if chart.y_names is not None:
        axis.set_yticks(range(len(chart.y_names)), [shown(n) for n in chart.y_names])
        axis.set_ylim(len(chart.y_names) - 0.4, -0.6)


def _labels(axis: Any, chart: Chart, first: bool, last: bool) -> None:
    """Only the outer panels are labelled where the axes are the same for all."""
    axis.tick_params(labelleft=first or not chart.shares_y, labelbottom=last or not chart.shares_x)
    if first and chart.y_label:
        axis.set_ylabel(plain(chart.y_label))


def _legend_columns(chart: Chart, width: float) -> int:
    longest = max((len(shown(entry.label or entry.group)) for entry in chart.legend), default=1)
    return max(1, min(len(chart.legend), int((width - 0.6) / (0.07 * longest + 0.6))))


def _legend(figure: Any, chart: Chart, rows: int, place: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    if not rows:
        return
    handles = [
        Line2D([], [], **_line(e.style, 1.8), marker=MARKERS[e.style.symbol] if e.marker else "", markersize=5)
        for e in chart.legend
    ]
    names = [shown(entry.label or entry.group) for entry in chart.legend]
    figure.legend(
        handles, names, loc="upper center", bbox_to_anchor=place, ncols=math.ceil(len(names) / rows), frameon=False,
        borderpad=0, borderaxespad=0, handlelength=2.6, labelspacing=0.45,
    )  # fmt: skip


def _line(style: Style, width: float) -> dict[str, Any]:
    return {"color": LIGHT[style.colour], "ls": DASHES[style.dash], "lw": width}


def save(figure: Any, path: Path, source: str, dpi: int = 130) -> Path:
    """PNG, PDF or SVG; the same figure makes the same bytes."""
    kind = path.suffix[1:]
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    about = {"Subject" if kind == "pdf" else "Description": source, **undated}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in letters that the font lacks: boxes say so
        write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=dpi, format=kind, metadata=about))
    return path


def plain(text: str) -> str:
    """Names come from files: a dollar sign in one must not be read as mathematics."""
    return labels.one_line(text).replace("$", r"\$")


def shown(text: str, longest: int = LONGEST) -> str:
    return plain(labels.shown(text, longest))
