"""All policies, all methods, one picture: where each estimate lies and how sure it is."""

from typing import Any

from ropeval.evaluation.result import Estimate
from ropeval.report.html import Figure, Series, Table
from ropeval.report.run_page.marks import TRUTH, extent, method_series, short
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import number

SPOKEN = 16  # estimates that the description names one by one
ROW, HEADING, FRAME = 22, 30, 60  # pixels per method, per policy's name, around it all


def intervals_figure(outcome: Outcome) -> Figure:
    """Policies from top to bottom as they were named, methods in rows below each name."""
    looks, policies = method_series(outcome), outcome.policies
    band = len(looks) * ROW + HEADING
    tops = {policy: -band * i for i, policy in enumerate(policies)}  # in pixels: one unit of the axis is one of them
    rows = {method: HEADING + ROW * (i + 0.5) for i, method in enumerate(looks)}
    traces = [_method(outcome, look, {p: tops[p] - rows[method] for p in policies}) for method, look in looks.items()]
    series = list(looks.values())
    if outcome.truth:
        traces += [
            _truth(policy, outcome.truth[policy], tops[policy], band) for policy in policies if policy in outcome.truth
        ]
        series.append(TRUTH)
    names = [
        {
            "text": short(policy), "xref": "paper", "x": 0, "xanchor": "left", "y": tops[policy] - HEADING / 2,
            "showarrow": False, "font": {"weight": 600, "size": 14},
        }
        for policy in policies
    ]  # fmt: skip
    lines = [
        {
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": tops[policy], "y1": tops[policy],
            "line": {"color": "@line", "width": 1},
        }
        for policy in policies[1:]
    ]  # fmt: skip
    yaxis = {"visible": False, "range": [-band * len(policies) - 6, 0], "fixedrange": True}
    layout = {"annotations": names, "shapes": lines, "xaxis": {"title": {"text": "estimated value"}}, "yaxis": yaxis}
    return Figure(
        traces, layout, _alt(outcome), _caption(outcome), table=_table(outcome), series=series,
        height=band * len(policies) + FRAME,
    )  # fmt: skip


def _method(outcome: Outcome, look: Series, heights: dict[str, float]) -> dict[str, Any]:
    found = [e for e in outcome.estimates if e.method == look.name and e.value is not None]
    ends = [extent(e) or (0.0, 0.0) for e in found]
    return {
        "type": "scatter", "mode": "markers", "name": look.name, "group": look.group,
        "x": [e.value for e in found], "y": [heights[e.policy] for e in found],
        "text": [f"{e.policy}, {e.method}: {_in_words(e)}" for e in found],
        "customdata": [[short(e.policy), e.method, _in_words(e)] for e in found],
        "hovertemplate": "<b>%{customdata[0]}</b><br>%{customdata[1]}: %{customdata[2]}<extra></extra>",
        "marker": {"color": look.paint, "symbol": look.symbol, "size": 10},
        "error_x": {
            "type": "data", "symmetric": False, "color": look.paint, "thickness": 2, "width": 5,
            "array": [high - (e.value or 0.0) for e, (_, high) in zip(found, ends, strict=True)],
            "arrayminus": [(e.value or 0.0) - low for e, (low, _) in zip(found, ends, strict=True)],
        },
    }  # fmt: skip


def _truth(policy: str, value: float, top: float, band: float) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines+markers", "name": "true value", "group": TRUTH.group,
        "x": [value, value], "y": [top - HEADING + 4, top - band + 4],
        "text": [f"{policy}: true value {number(value)}"] * 2, "line": {"color": "@ink", "width": 2, "dash": "dot"},
        "marker": {"opacity": 0, "size": 10},  # room for the line at the edge of the picture
        "customdata": [[short(policy), number(value)]] * 2,
        "hovertemplate": "<b>%{customdata[0]}</b><br>true value %{customdata[1]}<extra></extra>",
    }  # fmt: skip


def _in_words(estimate: Estimate) -> str:
    if estimate.value is None:
        return "diverged"
    value = number(estimate.value)
    if estimate.interval is not None:
        ends = f"{number(estimate.interval.low)} … {number(estimate.interval.high)}"
        return f"{value} ({estimate.interval.level:.0%} interval {ends})"
    if estimate.low is not None and estimate.high is not None and estimate.low < estimate.high:
        return f"{value} (members {number(estimate.low)} … {number(estimate.high)})"
    return value


def _alt(outcome: Outcome) -> str:
    """Every estimate while they are few, and then the range of each method: nobody listens to a hundred numbers."""
    words = []
    if len(outcome.estimates) > SPOKEN:
        for method in outcome.methods:
            found = [(e.value, e.policy) for e in outcome.estimates if e.method == method and e.value is not None]
            if found:
                (low, worst), (high, best) = min(found), max(found)
                words.append(f"{method}: from {number(low)} for {worst} to {number(high)} for {best}.")
        return f"Estimates with intervals. {' '.join(words)} The table below holds all of them."
    for policy in outcome.policies:
        told = "; ".join(f"{e.method} {_in_words(e)}" for e in outcome.of(policy))
        true = f"; true value {number(outcome.truth[policy])}" if policy in outcome.truth else ""
        words.append(f"{policy}: {told}{true}.")
    return f"Estimates with intervals. {' '.join(words)}"


def _caption(outcome: Outcome) -> str:
    drawn = [e for e in outcome.estimates if e.value is not None]
    bars = []
    levels = sorted({e.interval.level for e in drawn if e.interval is not None})
    if levels:
        named = " and ".join(f"{level:.0%}" for level in levels)
        bars.append(f"A bar is the {named} confidence interval: it covers the luck of the log and of the seeds.")
    if any(e.interval is None and e.low != e.high for e in drawn):
        bars.append("Where there is no interval, a bar spans the lowest and the highest member.")
    lost = [f"{e.policy} by {e.method}" for e in outcome.estimates if e.value is None]
    if lost:
        bars.append(f"Diverged, and therefore not drawn: {', '.join(lost)}.")
    far = [look.name for look in method_series(outcome).values() if not look.shown]
    if far:
        bars.append(f"Hidden at first, since its scale would flatten the rest: {', '.join(far)}.")
    return " ".join(bars)


def _table(outcome: Outcome) -> Table:
    columns = ["policy", "method", "estimate", "interval from", "to", "lowest member", "highest"]
    rows: list[list[Any]] = []
    for e in outcome.estimates:
        low, high = (e.interval.low, e.interval.high) if e.interval else (None, None)
        value = "diverged" if e.value is None else number(e.value)
        rows.append([e.policy, e.method, value, low, high, e.low, e.high])
        if outcome.truth:
            rows[-1].append(outcome.truth.get(e.policy))
    return Table([*columns, "true value"] if outcome.truth else columns, rows)
