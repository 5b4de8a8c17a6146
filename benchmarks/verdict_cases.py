"""The suite's estimates as cases for a verdict: what was seen of each, and how far off it was."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from ropeval.bench.data.tasks import find_task
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.result import Estimate
from ropeval.evaluation.verdict.rule import Kind
from ropeval.evaluation.verdict.verdict import is_simulator, look, policies_differ_by, yardstick


class Case(NamedTuple):
    """One estimate of the suite, whose truth is known."""

    task: str
    family: str
    split: str
    estimate: Estimate
    simulator: Estimate | None  # for the same policy
    error: float  # as a share of the range of the true values of the task's policies
    covered: bool | None  # whether its interval holds the truth
    width: float | None  # of the interval, likewise
    differ: float  # what the task's policies of the same split differ by, as far as the simulator tells, and
    alone: float  # what is known of that where the policy is the only one
    truth: float
    wide: float  # the range
    findings: dict[str, str]  # code -> severity


def cases(rows: pl.DataFrame) -> list[Case]:
    ranges = {
        task: max(truths) - min(truths)
        for task, truths in rows.group_by("task").agg(pl.col("truth_discounted").unique()).iter_rows()
    }
    made = [(row, _estimate(row)) for row in rows.iter_rows(named=True)]
    simulators = {(row["task"], row["policy"]): one for row, one in made if is_simulator(one)}
    together: dict[tuple[str, str], list[Estimate]] = {}
    for row, one in made:
        if is_simulator(one):
            together.setdefault((row["task"], row["split"]), []).append(one)
    found = []
    for row, one in made:
        simulator = simulators.get((row["task"], row["policy"]))
        if one.value is None or not one.signs or simulator is None:
            continue
        task, low, high, truth = (row[name] for name in ("task", "low", "high", "truth_discounted"))
        wide, off = ranges[task], abs(one.value - truth)
        beside = None if "support" in one.signs else simulator
        differ, alone = policies_differ_by(together[task, row["split"]]), policies_differ_by([simulator])
        assert differ is not None
        assert alone is not None
        covered, width = (None, None) if low is None else (low <= truth <= high, (high - low) / wide)
        findings = {told["code"]: told["severity"] for told in json.loads(row["warnings"])}
        case = Case(
            task=task, family=find_task(task).family, split=row["split"], estimate=one, simulator=beside,
            error=off / wide, covered=covered, width=width, truth=truth, wide=wide, findings=findings,
            differ=differ, alone=alone,
        )  # fmt: skip
        found.append(case)
    return found


def _estimate(row: Mapping[str, Any]) -> Estimate:
    extras = json.loads(row["extras"])
    signs = extras.get("signs", {})
    if "support" in signs:  # in an earlier row the log's returns up to cuts stood in the place of V_b
        signs["moved"] = abs(row["estimate"] - extras["log_value"]) / signs["scale"]
    nothing: dict[str, Any] = dict.fromkeys(("interval", "lowest", "highest"))
    nothing |= {"members": [], "diverged": [], "warnings": [], "config": {}}
    return Estimate(
        policy=row["policy"], policy_kind="", method=row["method"], value=row["estimate"], data_sha256="", version="",
        seconds=row["seconds"], signs=signs, family=ESTIMATORS[row["method"].rpartition("+")[2]].family, **nothing,
    )  # fmt: skip


def looks(case: Case) -> list[tuple[Kind, str, float]]:
    """Kind, word, and |error| in units of what lengths are measured by: as it was judged, beside the task's other
    policies; as if it were the only policy; and as if no simulator were there."""
    ways: list[tuple[Estimate | None, float | None]] = [(case.simulator, case.differ), (case.simulator, case.alone)]
    ways += [(None, None)] * (case.simulator is not None)
    found: list[tuple[Kind, str, float]] = []
    for simulator, differ in ways:
        kind, judged = look(case.estimate, simulator, differ)
        found.append((kind, judged.word, case.error * case.wide / yardstick(kind, case.estimate, differ)))
    return found


def words(case: Case) -> list[tuple[Kind, str]]:
    """As judged beside the other policies, as the only one, and without a simulator."""
    return [(kind, word) for kind, word, _ in looks(case)]
