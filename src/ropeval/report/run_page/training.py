"""How the estimates, the losses and the features moved while training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.evaluation.result import Estimate
from ropeval.report.html import Figure, Series, Table
from ropeval.report.run_page.marks import DASHES, TRUTH, method_series, short
from ropeval.report.run_page.outcome import Curve, Outcome
from ropeval.report.table import number

MOST_POINTS = 150  # of a curve: more could not be told apart
MOST_POLICIES = 12  # with a picture of their own
HEIGHT = 280
FEATURES = {
    "feature_std": "std of a feature",
    "feature_size": "mean |feature|",
    "feature_codes": "number of sign patterns",
    "feature_mean": "mean of the features",
    "effective_rank": "effective rank",
}


def estimate_figures(outcome: Outcome) -> list[Figure]:
    """One picture per policy: the members' mean, the range of the members around it, baselines and truth as lines."""
    return [_policy(outcome, policy) for policy in outcome.policies[:MOST_POLICIES] if _learned(outcome, policy)]


def _learned(outcome: Outcome, policy: str) -> list[tuple[Estimate, Curve]]:
    found = []
    for estimate in outcome.of(policy):
        traces = [
            t for t in outcome.curves if (t.policy, t.method) == (policy, estimate.method) and t.metric == "estimate"
        ]
        if traces:
            found.append((estimate, outcome.curves[traces[-1]]))
    return found


def _policy(outcome: Outcome, policy: str) -> Figure:
    looks, learned = method_series(outcome), _learned(outcome, policy)
    last = max(int(curve.steps[-1]) for _, curve in learned)
    traces: list[dict[str, Any]] = []
    for estimate, curve in learned:
        traces += _banded(looks[estimate.method], thinned(curve), estimate.diverged)
    for estimate in outcome.of(policy):
        if estimate.value is not None and estimate.method not in {e.method for e, _ in learned}:
            traces.append(_level(looks[estimate.method], estimate.value, last))
    if policy in outcome.truth:
        traces.append(_level(TRUTH, outcome.truth[policy], last))
    told = "; ".join(
        f"{e.method} ends at {number(e.value)}" if e.value is not None else f"{e.method} diverges" for e, _ in learned
    )
    layout = {"xaxis": {"title": {"text": "training step"}, "rangemode": "tozero"}, "yaxis": _sane_range(traces)}
    return Figure(
        traces, layout, f"Estimates for {policy} over training: {told}.", title=short(policy),
        table=_ends(learned), height=HEIGHT,
    )  # fmt: skip


def _banded(look: Series, curve: Curve, diverged: list[int]) -> list[dict[str, Any]]:
    """Mean and range of the members that can be believed; those that diverged as dotted lines, should all have."""
    kept = [m for m in range(curve.values.shape[1]) if m not in diverged]
    steps, values = curve.steps, curve.values[:, kept or slice(None)]
    line = {
        "type": "scatter", "mode": "lines", "name": look.name, "group": look.group, "x": steps, "y": mean(values),
        "line": {"color": look.paint, "width": 2, "dash": "solid" if kept else "dot"},
        "meta": look.name, "diverged": not kept,
        "hovertemplate": "%{meta}: %{y:.4g} at step %{x}<extra></extra>",
    }  # fmt: skip
    if len(kept) < 2:
        return [line]
    edge = np.concatenate([values.min(axis=1), values.max(axis=1)[::-1]])
    band = {
        "type": "scatter", "mode": "lines", "group": look.group, "x": np.concatenate([steps, steps[::-1]]), "y": edge,
        "fill": "toself", "fillcolor": f"{look.paint}/0.18", "line": {"width": 0}, "hoverinfo": "skip",
    }  # fmt: skip
    return [band, line]


def _level(look: Series, value: float, last: int) -> dict[str, Any]:
    """A value that no training moves."""
    return {
        "type": "scatter", "mode": "lines", "name": look.name, "group": look.group, "x": [0, last], "y": [value, value],
        "line": {"color": look.paint, "width": 1.5, "dash": "dash" if look is TRUTH else "dot"},
        "meta": look.name, "hovertemplate": "%{meta}: %{y:.4g}<extra></extra>",
    }  # fmt: skip


def _sane_range(traces: list[dict[str, Any]]) -> dict[str, Any]:
    """Room for all that did not diverge; a curve that did leaves the picture instead of flattening it."""
    axis = {"title": {"text": "estimated value"}}
    lost = [t.pop("diverged", False) for t in traces]
    if not any(lost) or all(lost):
        return axis
    seen = np.concatenate([np.asarray(t["y"], float) for t, bad in zip(traces, lost, strict=True) if not bad])
    low, high = float(seen.min()), float(seen.max())
    room = 0.08 * (high - low or 1.0)
    return axis | {"range": [low - room, high + room]}


def _ends(learned: list[tuple[Estimate, Curve]]) -> Table:
    quarters, rows = (0.25, 0.5, 0.75, 1.0), list[list[Any]]()
    for estimate, curve in learned:
        kept = [m for m in range(curve.values.shape[1]) if m not in estimate.diverged]
        if kept:
            means = mean(curve.values[:, kept])
            rows.append([estimate.method, *(float(means[int(q * (len(means) - 1))]) for q in quarters)])
    return Table(["method", *(f"at {q:.0%} of training" for q in quarters)], rows)


def loss_figure(outcome: Outcome) -> Figure | None:
    """The training losses of all parts, on a scale where a factor is a distance."""
    return _all_policies(outcome, "loss", "loss, mean over the members", log=True)


def feature_figure(outcome: Outcome) -> Figure | None:
    return _all_policies(outcome, "feature_std", "std of a feature over the log", log=False)


def _all_policies(outcome: Outcome, metric: str, label: str, log: bool) -> Figure | None:
    """One line per policy, method and part: colour for the method, dashes for the policy."""
    looks, policies = method_series(outcome), outcome.policies
    wanted = {t: c for t, c in outcome.curves.items() if t.metric == metric and t.policy in policies[:MOST_POLICIES]}
    if not wanted:
        return None
    traces, rows = [], list[list[Any]]()
    for trace, curve in wanted.items():
        look, thin = looks.get(trace.method, Series(trace.method, 7)), thinned(curve)
        means, dash = mean(thin.values), DASHES[policies.index(trace.policy) % len(DASHES)]
        traces.append({
            "type": "scatter", "mode": "lines", "name": f"{trace.policy}, {trace.method} ({trace.stage})",
            "group": look.group, "x": thin.steps, "y": np.where(means > 0, means, np.nan) if log else means,
            "line": {"color": look.paint, "width": 1.6, "dash": dash},
            "meta": [short(trace.policy), trace.method, trace.stage],
            "hovertemplate": "%{meta[0]}, %{meta[1]} (%{meta[2]}): %{y:.4g} at step %{x}<extra></extra>",
        })  # fmt: skip
        rows.append([trace.policy, trace.method, trace.stage, float(means[0]), float(means[-1])])
    layout = {
        "xaxis": {"title": {"text": "training step"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": label}, **({"type": "log", "dtick": 1} if log else {"rangemode": "tozero"})},
    }
    used = dict.fromkeys(t.method for t in wanted)
    return Figure(
        traces, layout, f"{label}: {len(traces)} curves; their first and last values are in the table.",
        "Dashes tell the policies apart; point at a line to see whose it is." if len(policies) > 1 else "",
        table=Table(["policy", "method", "part", "at first", "in the end"], rows),
        series=[looks[m] for m in used if m in looks], height=320,
    )  # fmt: skip


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
    return Table(["policy", "method", "part", *(FEATURES[m] for m in metrics)], rows, "Means over the members.")


def thinned(curve: Curve) -> Curve:
    keep = np.unique(np.linspace(0, len(curve.steps) - 1, MOST_POINTS).round().astype(int))
    return Curve(curve.steps[keep], curve.values[keep])


def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[C] over the members that have a value."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan))
