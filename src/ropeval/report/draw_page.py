"""Charts on the page: the same panels as on paper, as one Plotly figure of plain dictionaries.

A colour is written "@c1", "@ink" or by another name of the palette, with "/0.2" behind it for an opacity: the page puts
in what suits its light or dark dress. A trace's `group` is the legend entry that shows and hides it.
"""

from typing import Any

import numpy as np

from ropeval.report.chart import Chart, Mark, Panel, Range, Series
from ropeval.report.labels import log_ticks, short_number, shown

PANEL, ALONE, ROW = 210, 250, 22  # height of a panel, of the only one, of a name on its axis, in pixels
SHEET, LINE = 640, 14  # width of the panels on paper, and height of a line of small words, in pixels
GAP, TIGHT = 58, 32  # between two panels: with and without ticks
MANY = 100  # points of a series, which are drawn smaller
HAIR = 1e-4  # more room than the range needs: rounded, a point on its edge would lie beyond it and not be drawn
FAR = 1e30  # a band without an upper end goes to here
Trace = dict[str, Any]


def to_plotly(chart: Chart) -> dict[str, Any]:
    """All panels of a chart in one figure: its traces (`data`) and its `layout`."""
    columns = chart.columns or min(3, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    panel, gap = _panel_height(chart), TIGHT if chart.shares_x else GAP
    inner = rows * panel + (rows - 1) * gap
    layout: dict[str, Any] = {"annotations": []}
    traces: list[Trace] = []
    for place, own in enumerate(chart.panels):
        suffix = "" if place == 0 else str(place + 1)
        row, column = divmod(place, columns)
        left, last = column == 0, place + columns >= len(chart.panels)
        across = _domain(column, columns, 0.05 if chart.shares_y else 0.075)
        down = _domain(rows - 1 - row, rows, gap / inner)
        layout[f"xaxis{suffix}"] = _axis(chart, own, "x", suffix, across, last or not chart.shares_x, last)
        layout[f"yaxis{suffix}"] = _axis(chart, own, "y", suffix, down, left or not chart.shares_y, left)
        drawn = [t for series in own.series for t in _traces(chart, own, series)]
        drawn += [_mark(chart, own, mark) for mark in own.marks if np.isfinite(mark.value)]
        traces += [{**trace, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"} for trace in drawn]
        if own.title not in ("", chart.title):
            layout["annotations"].append(_words(shown(own.title), across[0], down[1]))
        note = (own.note if not own.series and not own.marks else "") or own.corner
        if note:
            lift = 0 if _side_by_side(own.title, note, across) else LINE
            layout["annotations"].append(_words(note, across[1], down[1], "right") | {"yshift": lift})
    lifted = max((words.get("yshift", 0) for words in layout["annotations"]), default=0)
    top, bottom = (26 + lifted if layout["annotations"] else 10), 44
    layout |= {"height": inner + top + bottom, "margin": {"l": 8, "r": 12, "t": top, "b": bottom}}
    return {"data": traces, "layout": layout}


def _panel_height(chart: Chart) -> int:
    if chart.y_names is None:
        return PANEL if len(chart.panels) > 1 else ALONE
    return ROW * len(chart.y_names) + 4 if chart.columns == 1 else max(PANEL, ROW * len(chart.y_names))


def _axis(
    chart: Chart, panel: Panel, axis: str, suffix: str, domain: tuple[float, float], ticked: bool, titled: bool
) -> dict[str, Any]:
    horizontal = axis == "x"
    log, names = (chart.x_log, chart.x_names) if horizontal else (chart.y_log, chart.y_names)
    limits = chart.limits(panel)[0 if horizontal else 1]
    found: dict[str, Any] = {
        "domain": domain, "anchor": ("y" if horizontal else "x") + suffix, "showticklabels": ticked,
        "automargin": ticked,
    }  # fmt: skip
    if len(chart.panels) > 1 and chart.columns != 1:
        found["nticks"] = 5
    if titled:
        found["title"] = {"text": chart.x_label if horizontal else chart.y_label, "font": {"size": 13}}
    if horizontal and chart.same_x and suffix:
        found["matches"] = "x"
    if not horizontal and chart.y_percent:
        found["tickformat"] = ".0%"
    if names is not None:
        found |= {"tickvals": list(range(len(names))), "ticktext": [shown(str(name)) for name in names]}
        limits = limits if horizontal else (len(names) - 0.4, -0.6)
    if log:
        found["type"] = "log"
    if limits is not None:
        start, end = np.log10(limits) if log else limits
        hair = HAIR * (end - start)
        found["range"] = [float(start - hair), float(end + hair)]
    if log:
        ticks = log_ticks(*(limits or _reach(panel, axis)))
        found |= {"tickvals": ticks, "ticktext": [short_number(t) for t in ticks]}
    return found


def _reach(panel: Panel, axis: str) -> Range:
    """From the smallest to the largest positive number on an axis."""
    seen = np.concatenate([np.ones(0), *(series.x if axis == "x" else series.y for series in panel.series)])
    seen = seen[np.isfinite(seen) & (seen > 0)]
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.1, 1.0)


def _traces(chart: Chart, panel: Panel, series: Series) -> list[Trace]:
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    shared = {"type": "scatter", "group": series.group, "name": series.label or series.group}
    colour = f"@{series.style.colour}"
    if series.kind in ("line", "step", "faint"):
        thin = series.kind == "faint"
        shape = {"shape": "hv"} if series.kind == "step" else {}
        line = {"color": f"{colour}/0.35" if thin else colour, "width": 1 if thin else 2, "dash": series.style.dash}
        hover = {"hoverinfo": "skip"} if thin else _hover(chart, series)
        found = {**shared, "mode": "lines", "x": x, "y": y, "line": {**line, **shape}, **hover}
        return [*_band(series, x, shared, shape, colour), found]
    clipped_x, clipped_y, symbols = _at_the_edge(chart, panel, x, y, series.style.symbol)
    cloud = series.kind == "cloud"
    marker = {
        "color": f"{colour}/0.45" if cloud else colour,
        "size": 4 if cloud else 9 if len(x) == 1 else 7 if len(x) < MANY else 5,
        "symbol": symbols,
    }
    trace = {**shared, "mode": "markers", "x": clipped_x, "y": clipped_y, "marker": marker, "cliponaxis": cloud}
    if series.kind == "points":
        trace |= {"mode": "lines+markers", "line": {"color": f"{colour}/0.6", "width": 1.2, "dash": series.style.dash}}
        trace |= _bars(chart, series, x if chart.y_names is not None else y, colour)
    return [{**trace, **_hover(chart, series)}]


def _bars(chart: Chart, series: Series, values: np.ndarray, colour: str) -> Trace:
    if series.low is None or series.high is None:
        return {}
    middle, low, high = (np.where(np.isfinite(v), v, FAR) for v in (values, series.low, series.high))
    bars = {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low}
    look = {"color": f"{colour}/0.8", "thickness": 2, "width": 4 if chart.y_names is not None else 0}
    return {"error_x" if chart.y_names is not None else "error_y": bars | look}


def _hover(chart: Chart, series: Series | Mark) -> Trace:
    """What is said of a point. Names come in by way of `text` and `meta`: in a template they would be read as one."""
    if isinstance(series, Series) and series.words:
        return {"text": list(series.words), "hovertemplate": "%{text}<extra></extra>"}
    name = (series.label if isinstance(series, Series) else "") or series.group
    across = chart.y_names is not None
    value = "%{x:.4~g}" if across else "%{y:.1%}" if chart.y_percent else "%{y:.4~g}"
    where = "" if across or chart.x_names is not None or isinstance(series, Mark) else " at %{meta[1]} %{x}"
    meta = [shown(name), shown(chart.x_label)]
    return {"meta": meta, "hovertemplate": f"%{{meta[0]}}: {value}{where}<extra></extra>"}


def _band(series: Series, x: np.ndarray, shared: Trace, shape: dict[str, Any], colour: str) -> list[Trace]:
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


def _at_the_edge(
    chart: Chart, panel: Panel, x: np.ndarray, y: np.ndarray, symbol: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Points beyond the panel are put on its edge, as arrows; every point's symbol."""
    x_range, y_range = chart.limits(panel)
    symbols = np.full(len(x), symbol, dtype=object)
    if y_range is not None:
        symbols[y > y_range[1]] = "triangle-up"
        y = np.minimum(y, y_range[1])
    if x_range is not None and chart.x_names is None:
        symbols[x > x_range[1]], symbols[x < x_range[0]] = "triangle-right", "triangle-left"
        x = np.clip(x, *x_range)
    return x, y, symbols.tolist()


def _mark(chart: Chart, panel: Panel, mark: Mark) -> Trace:
    """A line across the panel, as a trace, so that the legend can hide it."""
    limits = chart.limits(panel)[0] if mark.axis == "y" else (len(chart.y_names or "") - 0.4, -0.6)
    if limits is None:
        steps = [s.x for s in panel.series if len(s.x)]
        limits = (0.0, max(float(s[-1]) for s in steps)) if steps else (0.0, 1.0)
    along, level = np.asarray(limits, float), np.full(2, mark.value)
    x, y = (along, level) if mark.axis == "y" else (level, along)
    line = {"color": f"@{mark.style.colour}", "width": 1.6, "dash": mark.style.dash}
    trace = {
        "type": "scatter", "mode": "lines", "group": mark.group, "name": mark.group, "x": x, "y": y, "line": line,
        **_hover(chart, mark),
    }  # fmt: skip
    if mark.axis == "x":  # unseen markers make room for a line that would lie on the panel's edge
        trace |= {"mode": "lines+markers", "marker": {"opacity": 0, "size": 6}}
    return trace


def _rounded(values: np.ndarray) -> np.ndarray:
    """Four digits: more cannot be seen, and a page holds hundreds of thousands of numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 10.0 ** (3 - np.floor(np.log10(np.abs(values))))
        return np.where(np.isfinite(size), np.round(values * size) / size, values)


def _words(words: str, x: float, y: float, side: str = "left") -> dict[str, Any]:
    return {
        "text": words, "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False, "xanchor": side,
        "yanchor": "bottom", "font": {"size": 13, "weight": 600} if side == "left" else {"size": 11},
    }  # fmt: skip


def _side_by_side(title: str, note: str, across: tuple[float, float]) -> bool:
    """Whether both fit above a panel, on the narrowest sheet."""
    return 8 * len(title) + 6 * len(note) < SHEET * (across[1] - across[0])


def _domain(place: int, count: int, gap: float) -> tuple[float, float]:
    size = (1 - gap * (count - 1)) / count
    return place * (size + gap), min(1.0, place * (size + gap) + size)
