"""What a study leaves behind, and reading it back: one row per member and policy, curves beside them, and reasons
where there are none.

    STUDY/study.json                     what was asked for: `read_study` in bench.run.study
    STUDY/units/UNIT.rows.parquet        one row per member and policy       (ROWS)
    STUDY/units/UNIT.curves.parquet      what training looked like, long     (CURVES)
    STUDY/units/UNIT.….failed.json       task, method, hyper, policy, error

A file that is damaged is refused by name; rows that contradict each other are refused before they can be averaged.
Rows of earlier versions lack the columns in `ADDED` and are read with what those versions meant.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ropeval.bench.data.task_data import EVALUATED
from ropeval.bench.run.schema import BASELINES, CURVES, PROTOCOLS, ROWS, RUN, TRUTHS
from ropeval.bench.run.store import failure_files
from ropeval.errors import UserError, first_line
from ropeval.files import read_json

__all__ = [
    "ADDED", "BASELINES", "CASE", "CURVES", "ROWS", "RUN", "TRUTHS", "Failure", "Progress", "case_name", "load_curves",
    "load_failures", "load_rows", "warnings_of",
]  # fmt: skip

# Columns that rows of earlier versions do not have, and what they meant without them.
ADDED = {
    "policy": EVALUATED, "split": "", "low": None, "high": None, "seconds_prepare": 0.0, "extras": "{}",
    **{f"random_{truth}{error}": None for truth in TRUTHS for error in ("", "_se")},
}  # fmt: skip
# Nothing is known without these; the rest may be null (an estimate that diverged, a truth nobody measured).
NEVER_NULL = ("task", "policy", "method", "protocol", "hyper", "default", "seed", "gamma", "diverged")
ONE_PER_TASK = ("gamma", "data_sha256", *(f"random_{truth}" for truth in TRUTHS))
ONE_PER_POLICY = ("policy_sha256", *(f"truth_{truth}" for truth in TRUTHS))
UNKNOWN = "unknown"  # the severity of a warning that was kept as a sentence

Progress = Callable[[float], None]


def case_name(task: str, policy: str) -> str:
    """What is judged: a task by its name alone where it has one policy, else the policy beside it."""
    return task if policy == EVALUATED else f"{task} · {policy}"


CASE = (
    pl.when(pl.col("policy") == EVALUATED).then("task").otherwise(pl.concat_str("task", "policy", separator=" · "))
).alias("case")


def warnings_of(column: str) -> list[dict[str, str]]:
    """The warnings of a row, each {"code", "severity", "message"}. Earlier versions kept bare sentences."""
    return [
        {"code": UNKNOWN, "severity": UNKNOWN, "message": one} if isinstance(one, str) else one
        for one in json.loads(column)
    ]


@dataclass(frozen=True)
class Failure:
    """A unit that was tried and gave no rows: for one policy, or for none at all (`policy` is empty)."""

    unit: str
    task: str
    method: str
    hyper: str
    error: str
    policy: str = ""
    refused: bool = False  # the method has no answer here, and trying again will not change that

    def concerns(self, case: str) -> bool:
        """A failure of no policy in particular is one of all."""
        everyone = not self.policy and case.startswith(case_name(self.task, ""))
        return everyone or case == case_name(self.task, self.policy or EVALUATED)


def load_rows(folder: Path) -> pl.DataFrame:
    """All finished members, checked, in the order of task, method, setting, seed."""
    frames = [_read_rows(path) for path in sorted(folder.glob("units/*.rows.parquet"))]
    if not frames:
        raise UserError(f"{folder}: no unit has finished yet (no units/*.rows.parquet); `ropeval bench run` makes them")
    rows = pl.concat(frames)
    _refuse_contradictions(rows, folder)
    return rows.sort(RUN)


def load_curves(folder: Path, points: int | None = None, progress: Progress | None = None) -> pl.DataFrame:
    """All curves. `points`: keep so many steps of each, evenly spread and always the last."""
    paths = sorted(folder.glob("units/*.curves.parquet"))
    frames = []
    for place, path in enumerate(paths):
        frame = _read_parquet(path, CURVES, {"policy": EVALUATED})
        if points is not None:
            frame = _thin(frame, points)
        # Five names in millions of rows: numbers that stand for them take a tenth of the memory.
        frames.append(frame.drop("unit").with_columns(pl.col(pl.String).cast(pl.Categorical)))
        if progress:
            progress((place + 1) / len(paths))
    if not frames:
        empty = pl.DataFrame(schema=CURVES).drop("unit")
        return empty.with_columns(pl.col(pl.String).cast(pl.Categorical))
    return pl.concat(frames)


def load_failures(folder: Path) -> list[Failure]:
    """Units that failed, and the policies for which they did."""
    found = []
    for path, content in failure_files(folder, read=read_json):
        policy = str(content.get("policy", ""))
        unit = str(content.get("unit", path.name.removesuffix(".failed.json")))
        if not policy and (path.parent / f"{unit}.rows.parquet").exists():
            continue  # a later attempt succeeded
        hyper = content.get("hyper", "{}")
        text = hyper if isinstance(hyper, str) and _is_json_object(hyper) else json.dumps(hyper, sort_keys=True)
        if not _is_json_object(text):
            raise UserError(f"{path}: hyper is {text}; it must be a JSON object such as {{}}")
        task, method = (str(content.get(name, "?")) for name in ("task", "method"))
        reason, refused = str(content.get("error", "no reason was recorded")), content.get("refused") is True
        found.append(Failure(unit, task, method, text, reason, policy, refused))
    return found


# --- one file ---------------------------------------------------------------------------------------------------


def _read_rows(path: Path) -> pl.DataFrame:
    frame = _read_parquet(path, ROWS, ADDED)
    for name in NEVER_NULL:
        if frame[name].null_count():
            raise UserError(f"{path}: {name} is missing in {frame[name].null_count()} rows{REMAKE}")
    for hyper in frame["hyper"].unique():
        if not _is_json_object(hyper):
            raise UserError(f"{path}: hyper is {hyper!r}; it must be a JSON object such as {{}}{REMAKE}")
    for protocol in frame["protocol"].unique():
        if protocol not in PROTOCOLS:
            raise UserError(f"{path}: protocol is {protocol!r}; expected {' or '.join(PROTOCOLS)}{REMAKE}")
    return frame


def _read_parquet(path: Path, schema: dict[str, Any], added: dict[str, Any]) -> pl.DataFrame:
    """The columns of `schema`, in its types; those of `added` hold its value where absent."""
    try:
        frame = pl.read_parquet(path, use_pyarrow=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(
            f"{path}: cannot be read as Parquet, damaged or cut short? ({first_line(error)}){REMAKE}"
        ) from error
    absent = [name for name in schema if name not in frame.columns and name not in added]
    if absent:
        raise UserError(f"{path}: no column {', '.join(absent)}{REMAKE}")
    try:
        return frame.select(
            (pl.col(name) if name in frame.columns else pl.lit(added[name]).alias(name)).cast(kind)
            for name, kind in schema.items()
        )
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path}: a column has the wrong type ({str(error).splitlines()[0]}){REMAKE}") from error


REMAKE = "; delete the file and run the study again with --resume"


def _thin(frame: pl.DataFrame, points: int) -> pl.DataFrame:
    """`points` steps of each stage, evenly spread; the last is always among them."""
    kept = []
    for steps in frame.select("method", "stage", "step").unique().sort("step").partition_by("method", "stage"):
        place = np.arange(len(steps))
        thinned = (place + 1) * points // len(steps) > place * points // len(steps)
        kept.append(steps.filter(pl.Series(thinned)) if len(steps) > points else steps)
    return frame.join(pl.concat(kept), on=["method", "stage", "step"], how="semi") if kept else frame


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


# --- all of them ------------------------------------------------------------------------------------------------


def _refuse_contradictions(rows: pl.DataFrame, folder: Path) -> None:
    twice = rows.filter(rows.select(RUN).is_duplicated())
    if len(twice):
        units = ", ".join(sorted(twice["unit"].unique())[:4])
        one = ", ".join(f"{name} {twice[name][0]}" for name in RUN)
        raise UserError(f"{folder}: the same run stands there twice ({one}; in units {units}); delete one of them")
    defaults = (
        rows.filter("default").group_by("protocol", "task", "method").agg(pl.col("hyper").unique()).sort("task")
    ).filter(pl.col("hyper").list.len() > 1)
    if len(defaults):
        task, method, several = (defaults[name][0] for name in ("task", "method", "hyper"))
        raise UserError(f"{folder}: {task}, {method}: two settings call themselves the default: {', '.join(several)}")
    question = rows.select(*RUN[:3], *ONE_PER_TASK, *ONE_PER_POLICY, CASE)
    for kind, names in (("task", ONE_PER_TASK), ("case", ONE_PER_POLICY)):
        for name in names:
            mixed = question.group_by("protocol", kind).agg(pl.col(name).unique()).filter(pl.col(name).list.len() > 1)
            if len(mixed):
                values = ", ".join(str(v) for v in mixed[name][0])
                raise UserError(
                    f"{folder}: the rows of task {mixed[kind][0]} disagree about {name} ({values}); they come from "
                    "different logs or policies and cannot stand in one table. Report them as two studies"
                )
