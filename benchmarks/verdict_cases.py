"""The suite's estimates as cases for a verdict: what was seen of each, and how far off it was."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from ropeval.bench.data.tasks import find_task
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.result import Estimate
from ropeval.evaluation.verdict.rule import Kind
from ropeval.evaluation.verdict.verdict import look


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
    moved: float  # |error| as a share of the log's own scale
    truth: float
    wide: float  # the range
    findings: dict[str, str]  # code -> severity


def cases(rows: pl.DataFrame) -> list[Case]:
    ranges = {
        task: max(truths) - min(truths)
        for task, truths in rows.group_by("task").agg(pl.col("truth_discounted").unique()).iter_rows()
    }
    made = [(row, _estimate(row)) for row in rows.iter_rows(named=True)]
    simulators = {(row["task"], row["policy"]): one for row, one in made if "support" in one.signs}
    found = []
    for row, one in made:
        if one.value is None or not one.signs:
            continue
        wide, off = ranges[row["task"]], abs(one.value - row["truth_discounted"])
        beside = None if "support" in one.signs else simulators.get((row["task"], row["policy"]))
        ends = None if row["low"] is None else (row["low"], row["high"])
        found.append(
            Case(
                row["task"],
                find_task(row["task"]).family,
                row["split"],
                one,
                beside,
                off / wide,
                None if ends is None else ends[0] <= row["truth_discounted"] <= ends[1],
                None if ends is None else (ends[1] - ends[0]) / wide,
                off / one.signs["scale"],
                row["truth_discounted"],
                wide,
                {found["code"]: found["severity"] for found in json.loads(row["warnings"])},
            )
        )
    return found


def _estimate(row: Mapping[str, Any]) -> Estimate:
    signs = json.loads(row["extras"]).get("signs", {})
    nothing: dict[str, Any] = dict.fromkeys(("interval", "lowest", "highest"))
    nothing |= {"members": [], "diverged": [], "warnings": [], "config": {}}
    return Estimate(
        policy=row["policy"], policy_kind="", method=row["method"], value=row["estimate"], data_sha256="", version="",
        seconds=row["seconds"], signs=signs, family=ESTIMATORS[row["method"].rpartition("+")[2]].family, **nothing,
    )  # fmt: skip


def words(case: Case) -> list[tuple[Kind, str]]:
    """What it is called beside the simulator, and what it would be called without."""
    both = [look(case.estimate, case.simulator)]
    if case.simulator is not None:
        both.append(look(case.estimate, None))
    return [(kind, judged.word) for kind, judged in both]
