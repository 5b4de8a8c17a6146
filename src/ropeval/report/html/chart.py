"""Charts on the page: the same panels as on paper, as one Plotly figure."""

from typing import Any

import numpy as np

from ropeval.report.charts import Chart, Panel, Series, Style, log_ticks, short_number, shown
from ropeval.report.html.blocks import Figure, Table
from ropeval.report.html.blocks import Series as Legend

PANEL, GAP = 210, 58  # height of a panel and of the space between two, in pixels
FAR = 1e30  # a band without an upper end goes to here


def to_figure(chart: Chart, table: Table | None = None, source: str = "") -> Figure:
    """All panels of a chart in one figure, with the legend that shows and hides methods on the whole page."""
    columns = min(3, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    panel = max(PANEL, 21 * len(chart.y_names)) if chart.y_names else PANEL
    height = 30 + rows * (panel + GAP)
    layout: dict[str, Any] = {"annotations": [], "shapes": [], "margin": {"l": 8, "r": 12, "t": 26, "b": 44}}
    traces: list[dict[str, Any]] = []
    for place, own in enumerate(chart.panels):
        suffix = "" if place == 0 else str(place + 1)
        row, column = divmod(place, columns)
        left = column == 0
        last = place + columns >= len(chart.panels)
        across, down = _domain(column, columns, 0.05 if _same_y(chart) else 0.075), _domain(row, rows, GAP / height)
        down = (1 - down[1], 1 - down[0])
        layout[f"xaxis{suffix}"] = _axis(chart, own, "x", suffix, across, last, last)
        layout[f"yaxis{suffix}"] = _axis(chart, own, "y", suffix, down, left or not _same_y(chart), left)
        layout["annotations"].append(_words(shown(own.title), across[0], down[1], "paper"))
        traces += [t for series in own.series for t in _traces(chart, own, series, suffix)]
        traces += [_mark(chart, own, mark, suffix) for mark in own.marks if np.isfinite(mark.value)]
        lost = [mark.group for mark in own.marks if not np.isfinite(mark.value)]
        note = (own.note if not own.series and not own.marks else "") or "".join(f"▲ {m} diverged " for m in lost)
        if note:
            layout["annotations"].append(_words(note.strip(), across[1], down[1], "paper", "right"))
    legend = [Legend(entry.group, entry.style.colour, entry.style.symbol) for entry in chart.legend]
    named = ", ".join(entry.group for entry in chart.legend)
    alt = f"{chart.title}: {len(chart.panels)} panels, {chart.y_label or chart.x_label}; {named}. {chart.caption}"
    return Figure(traces, layout, alt, f"{chart.caption} {source}".strip(), table, legend, height)


def _axis(
    chart: Chart, panel: Panel, axis: str, suffix: str, domain: tuple[float, float], ticked: bool, titled: bool
) -> dict[str, Any]:
    horizontal = axis == "x"
    log, names = (chart.x_log, chart.x_names) if horizontal else (chart.y_log, chart.y_names)
    limits = (panel.x_range or chart.x_range) if horizontal else (panel.y_range or chart.y_range)
    found: dict[str, Any] = {
        "domain": domain, "anchor": ("y" if horizontal else "x") + suffix, "showticklabels": ticked,
        "nticks": 5, "automargin": ticked,
    }  # fmt: skip
    if titled:
        found["title"] = {"text": chart.x_label if horizontal else chart.y_label, "font": {"size": 12}}
    if names is not None:
        found |= {"tickvals": list(range(len(names))), "ticktext": [shown(str(name)) for name in names]}
        limits = limits if horizontal else (len(names) - 0.4, -0.6)
    if log:
        found["type"] = "log"
    if limits is not None:
        found["range"] = [float(np.log10(v)) for v in limits] if log else list(limits)
        if log:
            ticks = log_ticks(*limits)
            found |= {"tickvals": ticks, "ticktext": [short_number(t) for t in ticks]}
    return found


def _traces(chart: Chart, panel: Panel, series: Series, suffix: str) -> list[dict[str, Any]]:
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    shared = {
        "type": "scatter",
        "group": series.group,
        "name": series.group,
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
    }
    shape = {"shape": "hv"} if series.kind == "step" else {}
    colour = _colour(series.style)
    if series.kind in ("line", "step", "faint"):
        thin = series.kind == "faint"
        line = {"color": f"{colour}/0.35" if thin else colour, "width": 1 if thin else 2, "dash": series.style.dash}
        found = [
            {
                **shared,
                "mode": "lines",
                "x": x,
                "y": y,
                "line": {**line, **shape},
                "hoverinfo": "skip" if thin else "all",
            }
        ]
        return [*_band(series, x, shared, shape, colour), *found]
    clipped_x, clipped_y, beyond = _at_the_edge(chart, panel, x, y)
    own = series.style.symbol
    marker = {"color": colour, "size": np.where(beyond, 9, 7), "symbol": [_arrow(chart) if b else own for b in beyond]}
    trace = {**shared, "mode": "markers", "x": clipped_x, "y": clipped_y, "marker": marker, "cliponaxis": False}
    if series.kind == "points" and series.low is not None and series.high is not None:
        middle = np.where(np.isfinite(y), y, FAR)
        low, high = (np.where(np.isfinite(end), end, FAR) for end in (series.low, series.high))
        bars = {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low, "width": 0}
        trace["error_y"] = {**bars, "color": f"{colour}/0.6"}
    return [trace]


def _band(
    series: Series, x: np.ndarray, shared: dict[str, Any], shape: dict[str, Any], colour: str
) -> list[dict[str, Any]]:
    """A closed polygon: forth along the lower end, back along the upper."""
    if series.low is None or series.high is None:
        return []
    kept = np.isfinite(series.low)
    x, low = x[kept], series.low[kept]
    high = np.where(np.isfinite(series.high), series.high, FAR)[kept]
    if shape:
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    around = {"x": np.concatenate([x, x[::-1]]), "y": _rounded(np.concatenate([low, high[::-1]]))}
    look = {"fill": "toself", "fillcolor": f"{colour}/0.15", "line": {"width": 0, "color": f"{colour}/0"}}
    return [{**shared, "mode": "lines", **around, **look, "hoverinfo": "skip"}]


def _at_the_edge(chart: Chart, panel: Panel, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points beyond the panel are put on its edge; which ones those are."""
    x_range, y_range = panel.x_range or chart.x_range, panel.y_range or chart.y_range
    beyond = np.zeros(len(x), bool)
    if y_range is not None:
        beyond |= y > y_range[1]
        y = np.minimum(y, y_range[1])
    if x_range is not None and chart.x_names is None:
        beyond |= (x > x_range[1]) | (x < x_range[0])
        x = np.clip(x, *x_range)
    return x, y, beyond


def _arrow(chart: Chart) -> str:
    return "triangle-up" if chart.y_names is None else "triangle-right"


def _mark(chart: Chart, panel: Panel, mark: Any, suffix: str) -> dict[str, Any]:
    """A line across the panel, as a trace, so that the legend can hide it."""
    limits = (panel.x_range or chart.x_range) if mark.axis == "y" else (len(chart.y_names or "") - 0.4, -0.6)
    if limits is None:
        steps = [s.x for s in panel.series if len(s.x)]
        limits = (0.0, max(float(s[-1]) for s in steps)) if steps else (0.0, 1.0)
    along, level = np.asarray(limits, float), np.full(2, mark.value)
    x, y = (along, level) if mark.axis == "y" else (level, along)
    return {
        "type": "scatter", "mode": "lines", "group": mark.group, "name": mark.group, "x": x, "y": y,
        "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
        "line": {"color": _colour(mark.style), "width": 1.6, "dash": mark.style.dash},
    }  # fmt: skip


def _rounded(values: np.ndarray) -> np.ndarray:
    """Four digits: more cannot be seen, and a page holds hundreds of thousands of numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 10.0 ** (3 - np.floor(np.log10(np.abs(values))))
        return np.where(np.isfinite(size), np.round(values * size) / size, values)


def _words(words: str, x: float, y: float, where: str, side: str = "left") -> dict[str, Any]:
    return {
        "text": words, "x": x, "y": y, "xref": where, "yref": where, "showarrow": False, "xanchor": side,
        "yanchor": "bottom", "font": {"size": 13 if side == "left" else 11},
    }  # fmt: skip


def _domain(place: int, count: int, gap: float) -> tuple[float, float]:
    size = (1 - gap * (count - 1)) / count
    return place * (size + gap), min(1.0, place * (size + gap) + size)


def _same_y(chart: Chart) -> bool:
    return chart.y_names is not None or (chart.y_range is not None and all(p.y_range is None for p in chart.panels))


def _colour(style: Style) -> str:
    return f"@{style.colour}" if style.colour else "@ink"
