"""Where the policies go, and where the log has been."""

from typing import Any

from ropeval.evaluation.result import Coverage
from ropeval.report.html import Figure, Series, Table
from ropeval.report.run_page.marks import DASHES, policy_series, short
from ropeval.report.run_page.outcome import Outcome

MOST_POLICIES = 12
LOG = Series("the log itself", 0, group="log")


def distance_figure(outcome: Outcome) -> Figure:
    """Shares of state-action pairs that have a logged neighbour within a distance."""
    looks = policy_series([c.policy for c in outcome.coverage])
    first = outcome.coverage[0]
    traces = [_shares(first.log_distances, first.levels, LOG, "dash")]
    for place, found in enumerate(outcome.coverage):
        dash = DASHES[place // 7 % len(DASHES)]  # once all colours are used
        traces.append(_shares(found.policy_distances, found.levels, looks[found.policy], dash))
    # The last few per cent lie far out in any log: they are in the table, and within reach of the mouse.
    bulk = [d for c in outcome.coverage for far in (c.log_distances, c.policy_distances) for d in _bulk(c, far)]
    layout = {
        "xaxis": {
            "title": {"text": "distance to the nearest logged pair"},
            "range": [0, 1.15 * max(bulk, default=1.0)],
        },
        "yaxis": {"title": {"text": "share of pairs that are nearer"}, "tickformat": ".0%", "range": [0, 1.02]},
    }
    told = ". ".join(f"{c.policy}: {c.outside:.0%} outside" for c in outcome.coverage)
    rows: list[list[Any]] = [["the log itself", 1 - first.spread_level, *first.log_distances]]
    rows += [[c.policy, c.outside, *c.policy_distances] for c in outcome.coverage]
    table = Table(["policy", "outside", *(f"{level:.0%} within" for level in first.levels)], rows)
    return Figure(
        traces, layout, f"How far the policies' actions lie from logged ones. {told}.",
        "The further a curve lies to the right of the log's own, the more the estimate rests on extrapolation. "
        f"“Outside” is the share of a policy's pairs further out than {first.spread_level:.0%} of the logged ones.",
        table=table, series=[LOG, *looks.values()], height=330,
    )  # fmt: skip


def _bulk(found: Coverage, distances: list[float]) -> list[float]:
    return [d for level, d in zip(found.levels, distances, strict=True) if level <= found.spread_level]


def _shares(distances: list[float], levels: list[float], look: Series, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines+markers", "name": look.name, "group": look.group, "x": distances, "y": levels,
        "line": {"color": look.paint, "width": 2, "dash": dash}, "marker": {"color": look.paint, "size": 5},
        "meta": short(look.name), "hovertemplate": "%{meta}: %{y:.0%} within %{x:.3g}<extra></extra>",
    }  # fmt: skip


def map_figures(outcome: Outcome) -> list[Figure]:
    """One map per policy: logged pairs and the policy's, on the two main axes of the log."""
    looks = policy_series([c.policy for c in outcome.coverage])
    return [_map(found, looks[found.policy]) for found in outcome.coverage[:MOST_POLICIES] if found.log_points]


def _map(found: Coverage, look: Series) -> Figure:
    traces = [
        _cloud(found.log_points, LOG, "@muted/0.35", "circle", "logged"),
        _cloud(found.policy_points, look, f"{look.paint}/0.7", look.symbol, short(found.policy)),
    ]
    axes = [f"axis {i} ({share:.0%})" for i, share in enumerate(found.explained, start=1)]
    layout = {"xaxis": {"title": {"text": axes[0]}}, "yaxis": {"title": {"text": axes[1] if len(axes) > 1 else ""}}}
    alt = (
        f"{len(found.policy_points)} state-action pairs of {found.policy} over {len(found.log_points)} logged ones; "
        f"{found.outside:.0%} of the policy's pairs lie outside."
    )
    title = f"{short(found.policy)}: {found.outside:.0%} outside"
    return Figure(traces, layout, alt, title=title, height=300)


def _cloud(points: list[list[float]], look: Series, colour: str, symbol: str, label: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": look.name, "group": look.group,
        "x": [p[0] for p in points], "y": [p[1] if len(p) > 1 else 0.0 for p in points], "meta": label,
        "marker": {"color": colour, "symbol": symbol, "size": 4 if symbol == "circle" and look is LOG else 5},
        "hovertemplate": "%{meta} (%{x:.3g}, %{y:.3g})<extra></extra>",
    }  # fmt: skip
