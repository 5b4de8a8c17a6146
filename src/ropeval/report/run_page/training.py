"""How the estimates, the losses and the features moved while training."""

import numpy as np
from numpy.typing import NDArray

from ropeval.evaluation.result import Estimate
from ropeval.report.chart import Chart, Mark, Panel, Range, Series
from ropeval.report.labels import number, shown
from ropeval.report.palette import DASHES, Style
from ropeval.report.run_page.legend import TRUTH, method_legend
from ropeval.report.run_page.outcome import Curve, Outcome
from ropeval.report.table import Table, Value

MOST_POINTS = 150  # of a curve: more could not be told apart
MOST_POLICIES = 12  # with a picture of their own
FEATURES = {
    "feature_std": "std of a feature",
    "feature_size": "mean |feature|",
    "feature_codes": "number of sign patterns",
    "feature_mean": "mean of the features",
    "effective_rank": "effective rank",
}


def estimates_chart(outcome: Outcome) -> Chart | None:
    """A panel per policy: the members' mean, the range of the members around it, baselines and truth as lines."""
    learned = {policy: _learned(outcome, policy) for policy in outcome.policies[:MOST_POLICIES]}
    learned = {policy: found for policy, found in learned.items() if found}
    if not learned:
        return None
    legend = method_legend(outcome)
    return Chart(
        slug="curves",
        title="Estimates over training",
        caption="The mean of the members, and their range around it. Methods that learn nothing are level lines.",
        panels=[_panel(outcome, policy, found) for policy, found in learned.items()],
        legend=[*legend.values(), *([TRUTH] if outcome.truth else [])],
        x_label="training step",
        y_label="estimated value",
        x_range=(0.0, max(float(curve.steps[-1]) for found in learned.values() for _, curve in found)),
        table=_ends(learned),
    )


def _learned(outcome: Outcome, policy: str) -> list[tuple[Estimate, Curve]]:
    found = []
    for estimate in outcome.of(policy):
        traces = [
            t for t in outcome.curves if (t.policy, t.method) == (policy, estimate.method) and t.metric == "estimate"
        ]
        if traces:
            found.append((estimate, outcome.curves[traces[-1]]))
    return found


def _panel(outcome: Outcome, policy: str, learned: list[tuple[Estimate, Curve]]) -> Panel:
    legend = method_legend(outcome)
    drawn = [_series(legend[e.method].style, e, thinned(curve)) for e, curve in learned]
    curved = {e.method for e, _ in learned}
    marks = [
        legend[e.method].mark(e.value) for e in outcome.of(policy) if e.value is not None and e.method not in curved
    ]
    if policy in outcome.truth:
        marks.append(TRUTH.mark(outcome.truth[policy]))
    told = "; ".join(
        f"{e.method} ends at {number(e.value)}" if e.value is not None else f"{e.method} diverges" for e, _ in learned
    )
    alt = f"Estimates for {policy} over training: {told}."
    return Panel(policy, drawn, marks, y_range=_sane_range(learned, drawn, marks), alt=alt)


def _series(style: Style, estimate: Estimate, curve: Curve) -> Series:
    """Mean and range of the members that can be believed; those that diverged as dotted lines, should all have."""
    kept = _kept(estimate, curve)
    values = curve.values[:, kept or slice(None)]
    band = (values.min(axis=1), values.max(axis=1)) if len(kept) > 1 else (None, None)
    return Series(estimate.method, style if kept else style._replace(dash="dot"), curve.steps, mean(values), *band)


def _kept(estimate: Estimate, curve: Curve) -> list[int]:
    return [m for m in range(curve.values.shape[1]) if m not in (*estimate.diverged, *estimate.left_out)]


def _sane_range(learned: list[tuple[Estimate, Curve]], drawn: list[Series], marks: list[Mark]) -> Range | None:
    """Room for all that did not diverge; a curve that did leaves the picture instead of flattening it."""
    lost = [not _kept(estimate, curve) for estimate, curve in learned]
    if not any(lost) or (all(lost) and not marks):
        return None
    sane = [series for series, bad in zip(drawn, lost, strict=True) if not bad]
    ends = [end for series in sane for end in (series.y, series.low, series.high) if end is not None]
    seen = np.concatenate([*ends, [mark.value for mark in marks]])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    room = 0.08 * (high - low or 1.0)
    return low - room, high + room


def _ends(learned: dict[str, list[tuple[Estimate, Curve]]]) -> Table:
    quarters, rows = (0.25, 0.5, 0.75, 1.0), list[list[Value]]()
    for policy, found in learned.items():
        for estimate, curve in found:
            if kept := _kept(estimate, curve):
                means = mean(curve.values[:, kept])
                at = (float(means[int(q * (len(means) - 1))]) for q in quarters)
                rows.append([policy, estimate.method, *at])
    return Table(["policy", "method", *(f"at {q:.0%} of training" for q in quarters)], rows)


def loss_chart(outcome: Outcome) -> Chart | None:
    """The training losses of all parts, on a scale where a factor is a distance."""
    return _all_policies(outcome, "loss", "loss, mean over the members", log=True)


def feature_chart(outcome: Outcome) -> Chart | None:
    return _all_policies(outcome, "feature_std", "std of a feature over the log", log=False)


def _all_policies(outcome: Outcome, metric: str, label: str, log: bool) -> Chart | None:
    """One line per policy, method and part: colour for the method, dashes for the policy."""
    legend, policies = method_legend(outcome), outcome.policies
    wanted = {t: c for t, c in outcome.curves.items() if t.metric == metric and t.policy in policies[:MOST_POLICIES]}
    wanted = {t: c for t, c in wanted.items() if t.method in legend}
    if not wanted:
        return None
    drawn, rows = list[Series](), list[list[Value]]()
    for trace, curve in wanted.items():
        thin = thinned(curve)
        means = mean(thin.values)
        style = legend[trace.method].style._replace(dash=DASHES[policies.index(trace.policy) % len(DASHES)])
        name = f"{shown(trace.policy)}, {trace.method} ({trace.stage})"
        drawn.append(Series(trace.method, style, thin.steps, means, label=name))
        rows.append([trace.policy, trace.method, trace.stage, float(means[0]), float(means[-1])])
    seen = np.concatenate([series.y[np.isfinite(series.y)] for series in drawn] + [np.zeros(1)])
    return Chart(
        slug=metric,
        title=label,
        caption="Dashes tell the policies apart; point at a line to see whose it is." if len(policies) > 1 else "",
        panels=[Panel("", drawn)],
        legend=[legend[m] for m in dict.fromkeys(t.method for t in wanted)],
        x_label="training step",
        y_label=label,
        y_log=log,
        x_range=(0.0, max(float(series.x[-1]) for series in drawn)),
        y_range=None if log else (0.0, 1.05 * (float(seen.max()) or 1.0)),
        alt=f"{label}: {len(drawn)} curves; their first and last values are in the table.",
        table=Table(["policy", "method", "part", "at first", "in the end"], rows),
    )


def feature_table(outcome: Outcome) -> Table | None:
    """The statistics of every learned representation at the end of its training."""
    ends: dict[tuple[str, str, str], dict[str, float]] = {}
    for trace, curve in outcome.curves.items():
        if trace.metric in FEATURES:
            own = ends.setdefault((trace.policy, trace.method, trace.stage), {})
            own[trace.metric] = float(mean(curve.values)[-1])
    if not ends:
        return None
    metrics = [m for m in FEATURES if any(m in own for own in ends.values())]
    rows = [[*key, *(own.get(m) for m in metrics)] for key, own in ends.items()]
    return Table(["policy", "method", "part", *(FEATURES[m] for m in metrics)], rows, caption="Means over the members.")


def thinned(curve: Curve) -> Curve:
    keep = np.unique(np.linspace(0, len(curve.steps) - 1, MOST_POINTS).round().astype(int))
    return Curve(curve.steps[keep], curve.values[keep])


def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[C] over the members that have a value."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan))
