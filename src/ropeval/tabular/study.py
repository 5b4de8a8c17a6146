"""How well each metric's groups agree with those of q: the numbers behind the paper's gridworld figures."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ropeval.errors import UserError
from ropeval.files import write_text
from ropeval.tabular.aggregate import (
    AggregationError,
    aggregation_error,
    by_first_appearance,
    neighbourhoods,
    zero_groups,
)
from ropeval.tabular.mdp import Array, IntArray, TabularMDP
from ropeval.tabular.metrics import METRICS, build_metric
from ropeval.tabular.solve import action_values, occupancy, policy_value

GROUPING_TOLERANCE = 1e-8  # times the largest one-step distance; the metrics themselves are exact to 1e-10 of it
LARGEST = 6000  # pairs; one N×N array of float64 then takes 288 MB


@dataclass(frozen=True, eq=False)
class MetricGroups:
    """One metric's distance-0 groups of the live pairs (those of non-terminal states)."""

    metric: str
    labels: IntArray  # [n] numbered by falling q, so that equal groupings have equal numbers
    merged: int  # misaligned: pairs of pairs in one group although their q differ
    split: int  # pairs of pairs in two groups although their q are equal
    aggregated: AggregationError  # what FQE would lose if each group shared one value

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def aligned(self) -> bool:
        return self.merged == 0 and self.split == 0


@dataclass(frozen=True, eq=False)
class Study:
    mdp: TabularMDP
    q: Array  # [S, A] action values of π_e
    occupancy: Array  # [S, A] of π_e
    value_e: float
    value_b: float
    q_labels: IntArray  # [n] live pairs grouped by equal q
    groups: dict[str, MetricGroups]
    merging: list[AggregationError]  # ROPE's ε-neighbourhoods, ε rising; empty where ROPE was not asked for

    @property
    def q_count(self) -> int:
        return int(self.q_labels.max()) + 1


def study(mdp: TabularMDP, pi_e: npt.ArrayLike, pi_b: npt.ArrayLike, metrics: Sequence[str] = ("all",)) -> Study:
    """Values, and the groups of each named metric beside the groups of q."""
    names = list(METRICS) if "all" in metrics else list(metrics)
    live = mdp.live_pairs
    if len(live) == 0:
        raise UserError("terminal: every state is terminal; there is no state-action pair to group")
    if mdp.num_pairs > LARGEST:
        found = f"{mdp.num_states} states × {mdp.num_actions} actions = {mdp.num_pairs} pairs"
        raise UserError(f"P: {found}; the exact metrics hold N×N arrays, so that N ≤ {LARGEST} pairs is the limit")
    q = action_values(mdp, pi_e)
    flat = q.reshape(-1)[live]  # [n]
    tol = GROUPING_TOLERANCE * max(1.0, float(np.ptp(mdp.r)))
    gaps = np.abs(flat[:, None] - flat[None, :])  # [n, n]
    q_labels = by_falling_q(zero_groups(gaps, tol).labels, flat)
    same_q = q_labels[:, None] == q_labels[None, :]

    groups, merging = {}, []
    for name in names:
        metric = build_metric(name, mdp, pi_e, pi_b)
        d = metric.fixed_point()  # [N, N]
        everything = zero_groups(d, GROUPING_TOLERANCE * metric.scale)
        labels = by_falling_q(zero_groups(d[np.ix_(live, live)], GROUPING_TOLERANCE * metric.scale).labels, flat)
        together = labels[:, None] == labels[None, :]
        groups[name] = MetricGroups(
            metric=name,
            labels=labels,
            merged=int((together & ~same_q).sum()) // 2,
            split=int((~together & same_q).sum()) // 2,
            aggregated=aggregation_error(mdp, pi_e, everything),
        )
        if name == "rope":
            merging = merging_errors(mdp, pi_e, d)
    visits, value_e, value_b = occupancy(mdp, pi_e), policy_value(mdp, pi_e), policy_value(mdp, pi_b)
    return Study(mdp, q, visits, value_e, value_b, q_labels, groups, merging)


def merging_errors(mdp: TabularMDP, pi_e: npt.ArrayLike, d: Array) -> list[AggregationError]:
    """What merging within ε costs, for ε at a few quantiles of the distances between different pairs."""
    apart = d[np.triu_indices(len(d), 1)]
    apart = apart[apart > 0]
    radii = np.unique(np.quantile(apart, [0.0, 0.05, 0.2, 0.5, 1.0]).round(12)) if len(apart) else np.zeros(0)
    found = [aggregation_error(mdp, pi_e, neighbourhoods(d, float(radius) + 1e-9)) for radius in radii]
    return list({one.clusters: one for one in found}.values())


def by_falling_q(labels: IntArray, q: Array) -> IntArray:
    """The same groups, numbered by their best member: highest q first, ties by first appearance."""
    best = np.full(int(labels.max()) + 1, -np.inf)
    np.maximum.at(best, labels, np.round(q, 8))
    return by_first_appearance(np.append(np.argsort(-best, kind="stable"), labels))[len(best) :]


def write_study(result: Study, out: Path) -> list[Path]:
    """pairs.csv, one row for each live pair, and summary.json with the table's numbers."""
    A = result.mdp.num_actions
    names = list(result.groups)
    columns = [result.groups[name].labels for name in names]
    lines = [",".join(["state", "action", "q", "occupancy", "group_q", *(f"group_{name}" for name in names)])]
    for index, x in enumerate(result.mdp.live_pairs):
        state, action = divmod(int(x), A)
        labels = [result.q_labels[index], *(column[index] for column in columns)]
        q, visits = float(result.q[state, action]), float(result.occupancy[state, action])
        lines.append(f"{state},{action},{q!r},{visits!r}," + ",".join(str(label + 1) for label in labels))
    summary = {
        "value_pi_e": result.value_e,
        "value_pi_b": result.value_b,
        "groups_q": result.q_count,
        "merging": [asdict(one) for one in result.merging],
        "metrics": {
            name: {
                "groups": groups.count,
                "merged": groups.merged,
                "split": groups.split,
                "as_q": groups.aligned,
                "q_error": groups.aggregated.q_error,
                "value_error": groups.aggregated.value_error,
                **({"bound": groups.aggregated.bound} if name == "rope" else {}),
            }
            for name, groups in result.groups.items()
        },
    }
    contents = {"pairs.csv": "\n".join(lines) + "\n", "summary.json": json.dumps(summary, indent=2) + "\n"}
    for name, content in contents.items():
        write_text(out / name, content)
    return [out / name for name in contents]
