"""All policies, all methods, one picture: where each estimate lies and how sure it is."""

from dataclasses import replace

import numpy as np

from ropeval.evaluation.result import Estimate
from ropeval.report.chart import Chart, Entry, Panel, Series
from ropeval.report.labels import number, shown
from ropeval.report.run_page.legend import TRUTH, extent, method_legend
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Table, Value

SPOKEN = 16  # estimates that the description names one by one


def values_chart(outcome: Outcome) -> Chart:
    """Policies from top to bottom as they were named, methods in rows below each name."""
    legend = {name: _barred(entry) for name, entry in method_legend(outcome).items()}
    panels = []
    for policy in outcome.policies:
        drawn = [_series(e, legend) for e in outcome.of(policy) if e.value is not None]
        true = outcome.truth.get(policy)
        panels.append(Panel(policy, drawn, [] if true is None else [TRUTH.mark(true, "x")]))
    return Chart(
        slug="values",
        title="Estimates with intervals",
        caption=_caption(outcome),
        panels=panels,
        legend=[*legend.values(), *([TRUTH] if outcome.truth else [])],
        x_label="estimated value",
        y_names=list(legend),
        same_x=True,
        columns=1,
        alt=_alt(outcome),
        table=_table(outcome),
    )


def _barred(entry: Entry) -> Entry:
    """As it is drawn here: a sign on a solid bar, whatever its curves look like."""
    return replace(entry, marker=True, style=entry.style._replace(dash="solid"))


def _series(estimate: Estimate, legend: dict[str, Entry]) -> Series:
    ends = extent(estimate) or (np.nan, np.nan)
    place = float(list(legend).index(estimate.method))
    words = [f"{shown(estimate.policy)}, {estimate.method}: {_in_words(estimate)}"]
    numbers = (np.array([one]) for one in (estimate.value, place, *ends))
    return legend[estimate.method].series(*numbers, kind="points", words=words)


def _in_words(estimate: Estimate) -> str:
    return ", ".join(filter(None, [_interval_in_words(estimate), estimate.support_in_words]))


def _interval_in_words(estimate: Estimate) -> str:
    if estimate.value is None:
        return estimate.without_value
    value = number(estimate.value)
    if estimate.interval is not None:
        ends = f"{number(estimate.interval.low)} … {number(estimate.interval.high)}"
        return f"{value} ({estimate.interval.level:.0%} interval {ends})"
    if estimate.lowest is not None and estimate.highest is not None and estimate.lowest < estimate.highest:
        return f"{value} (members {number(estimate.lowest)} … {number(estimate.highest)})"
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
    if any(e.interval is None and e.lowest != e.highest for e in drawn):
        bars.append("Where there is no interval, a bar spans the lowest and the highest member.")
    lost = [f"{e.policy} by {e.method}" for e in outcome.estimates if e.value is None]
    if lost:
        bars.append(f"Without an estimate, and therefore not drawn: {', '.join(lost)}.")
    far = [entry.group for entry in method_legend(outcome).values() if not entry.shown]
    if far:
        bars.append(f"Hidden at first, since its scale would flatten the rest: {', '.join(far)}.")
    return " ".join(bars)


def _table(outcome: Outcome) -> Table:
    columns = ["policy", "method", "estimate", "interval from", "to", "lowest member", "highest"]
    told = any(e.support_in_words for e in outcome.estimates)
    columns += ["support", "share from the log"] if told else []
    rows: list[list[Value]] = []
    for e in outcome.estimates:
        low, high = (e.interval.low, e.interval.high) if e.interval else (None, None)
        value = e.without_value if e.value is None else number(e.value)
        rows.append([e.policy, e.method, value, low, high, e.lowest, e.highest])
        if told:
            rows[-1] += [e.extras.get("support"), e.extras.get("fallback")]
        if outcome.truth:
            rows[-1].append(outcome.truth.get(e.policy))
    return Table([*columns, "true value"] if outcome.truth else columns, rows)
