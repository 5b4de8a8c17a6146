"""Where the policies go, and where the log has been."""

import numpy as np

from ropeval.evaluation.result import Coverage
from ropeval.report.chart import Chart, Entry, Panel
from ropeval.report.labels import shown
from ropeval.report.run_page.legend import LOG, policy_legend
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Table, Value

MOST_POLICIES = 12


def distance_chart(outcome: Outcome) -> Chart:
    """Shares of state-action pairs that have a logged neighbour within a distance."""
    legend = policy_legend([c.policy for c in outcome.coverage])
    first = outcome.coverage[0]
    drawn = [LOG.series(np.array(first.log_distances), np.array(first.levels))]
    drawn += [legend[c.policy].series(np.array(c.policy_distances), np.array(c.levels)) for c in outcome.coverage]
    # The last few per cent lie far out in any log: they are in the table, and within reach of the mouse.
    bulk = [
        distance
        for c in outcome.coverage
        for level, *both in zip(c.levels, c.log_distances, c.policy_distances, strict=True)
        for distance in both
        if level <= c.spread_level
    ]
    told = ". ".join(f"{c.policy}: {c.outside:.0%} outside" for c in outcome.coverage)
    rows: list[list[Value]] = [["the log itself", 1 - first.spread_level, *first.log_distances]]
    rows += [[c.policy, c.outside, *c.policy_distances] for c in outcome.coverage]
    return Chart(
        slug="distances",
        title="Distances to the log",
        caption="The further a curve lies to the right of the log's own, the more the estimate rests on extrapolation. "
        f"“Outside” is the share of a policy's pairs further out than {first.spread_level:.0%} of the logged ones.",
        panels=[Panel("", drawn)],
        legend=[LOG, *legend.values()],
        x_label="distance to the nearest logged pair",
        y_label="share of pairs that are nearer",
        x_range=(0.0, 1.15 * max(bulk, default=1.0)),
        y_range=(0.0, 1.02),
        y_percent=True,
        alt=f"How far the policies' actions lie from logged ones. {told}.",
        table=Table(["policy", "outside", *(f"{level:.0%} within" for level in first.levels)], rows),
    )


def map_chart(outcome: Outcome) -> Chart | None:
    """One map per policy: logged pairs and the policy's, on the two main axes of the log."""
    legend = policy_legend([c.policy for c in outcome.coverage])
    known = [found for found in outcome.coverage[:MOST_POLICIES] if found.log_points]
    if not known:
        return None
    axes = [f"axis {i} ({share:.0%})" for i, share in enumerate(known[0].explained, start=1)]
    return Chart(
        slug="maps",
        title="Maps",
        caption="",
        panels=[_map(found, legend[found.policy]) for found in known],
        legend=[],
        x_label=axes[0],
        y_label=axes[1] if len(axes) > 1 else "",
    )


def _map(found: Coverage, who: Entry) -> Panel:
    alt = (
        f"{len(found.policy_points)} state-action pairs of {found.policy} over {len(found.log_points)} logged ones; "
        f"{found.outside:.0%} of the policy's pairs lie outside."
    )
    drawn = [
        LOG.series(*_axes(found.log_points), label="logged", kind="cloud"),
        who.series(*_axes(found.policy_points), kind="dots"),
    ]
    return Panel(f"{shown(found.policy)}: {found.outside:.0%} outside", drawn, alt=alt)


def _axes(points: list[list[float]]) -> list[np.ndarray]:
    return [np.array([p[axis] if len(p) > axis else 0.0 for p in points]) for axis in (0, 1)]
