"""What a study leaves behind, and reading it back: one row per member, curves beside them, reasons where a unit failed.

    STUDY/study.json                     what was asked for
    STUDY/units/UNIT.rows.parquet        one row per member                  (ROWS)
    STUDY/units/UNIT.curves.parquet      what training looked like, long     (CURVES)
    STUDY/units/UNIT.failed.json         task, method, hyper, error

A file that is damaged is refused by name; rows that contradict each other are refused before they can be averaged.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ropeval.errors import UserError

BASELINES = ("mean-reward", "mean-return")  # what everything else has to beat
PROTOCOLS = ("standard", "paper")
TRUTHS = {"discounted": "discounted return", "mean_reward": "mean reward/(1−γ)"}  # columns truth_*, random_*

ROWS: dict[str, Any] = {
    "study": pl.String, "unit": pl.String, "task": pl.String, "method": pl.String, "protocol": pl.String,
    "hyper": pl.String,  # canonical JSON of what the grid varied, "{}" where nothing was
    "default": pl.Boolean,  # whether `hyper` is the method's default setting
    "seed": pl.Int64, "gamma": pl.Float64, "config": pl.String,
    "estimate": pl.Float64, "diverged": pl.Boolean, "diverged_at": pl.Int64,
    "truth_discounted": pl.Float64, "truth_discounted_se": pl.Float64,
    "truth_mean_reward": pl.Float64, "truth_mean_reward_se": pl.Float64,
    # The value of the random policy: RMAE is measured in units of |ρ(π_e) − ρ(π_rand)|.
    "random_discounted": pl.Float64, "random_discounted_se": pl.Float64,
    "random_mean_reward": pl.Float64, "random_mean_reward_se": pl.Float64,
    "data_sha256": pl.String, "policy_sha256": pl.String, "version": pl.String, "commit": pl.String,
    "device": pl.String, "seconds": pl.Float64, "warnings": pl.String,
}  # fmt: skip
CURVES: dict[str, Any] = {
    "unit": pl.String, "task": pl.String, "method": pl.String, "protocol": pl.String, "hyper": pl.String,
    "seed": pl.Int64, "stage": pl.String, "step": pl.Int64, "metric": pl.String, "value": pl.Float32,
}  # fmt: skip
RUN = ["protocol", "task", "method", "hyper", "seed"]  # what tells one row from another
# Nothing is known without these; the rest may be null (an estimate that diverged, a truth nobody measured).
NEVER_NULL = ("task", "method", "protocol", "hyper", "default", "seed", "gamma", "diverged")
ONE_PER_TASK = (
    "gamma",
    "data_sha256",
    "policy_sha256",
    *(f"{kind}_{truth}" for truth in TRUTHS for kind in ("truth", "random")),
)

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Failure:
    """A unit that was tried and gave no rows."""

    unit: str
    task: str
    method: str
    hyper: str
    error: str


def load_study(folder: Path) -> dict[str, Any]:
    """`study.json`, as it was resolved when the study started."""
    path = folder / "study.json"
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the folder that `ropeval bench run` wrote")
    if not path.is_file():
        raise UserError(f"{folder}: this is no study, it holds no study.json; give what `ropeval bench run` wrote")
    return _read_json(path)


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
        frame = _read_parquet(path, CURVES)
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
    """Units that failed and have no rows by now."""
    found = []
    for path in sorted(folder.glob("units/*.failed.json")):
        unit = path.name.removesuffix(".failed.json")
        if (path.parent / f"{unit}.rows.parquet").exists():
            continue  # a later attempt succeeded
        content = _read_json(path)
        hyper = content.get("hyper", "{}")
        text = hyper if isinstance(hyper, str) and _is_json_object(hyper) else json.dumps(hyper, sort_keys=True)
        if not _is_json_object(text):
            raise UserError(f"{path}: hyper is {text}; it must be a JSON object such as {{}}")
        task, method = (str(content.get(name, "?")) for name in ("task", "method"))
        found.append(Failure(unit, task, method, text, str(content.get("error", "no reason was recorded"))))
    return found


# --- one file ---------------------------------------------------------------------------------------------------


def _read_rows(path: Path) -> pl.DataFrame:
    frame = _read_parquet(path, ROWS, optional=("random_",))
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


def _read_parquet(path: Path, schema: dict[str, Any], optional: tuple[str, ...] = ()) -> pl.DataFrame:
    """The columns of `schema`, in its types. Columns that begin with one of `optional` are null where absent."""
    try:
        frame = pl.read_parquet(path, use_pyarrow=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path}: cannot be read as Parquet, damaged or cut short? ({reason}){REMAKE}") from error
    absent = [name for name in schema if name not in frame.columns and not name.startswith(optional or ("\0",))]
    if absent:
        raise UserError(f"{path}: no column {', '.join(absent)}{REMAKE}")
    try:
        return frame.select(
            (pl.col(name) if name in frame.columns else pl.lit(None).alias(name)).cast(kind)
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


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON, damaged or cut short? ({error})") from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: holds {type(content).__name__}, expected a JSON object")
    return content


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
    for name in ONE_PER_TASK:
        mixed = rows.group_by("protocol", "task").agg(pl.col(name).unique()).filter(pl.col(name).list.len() > 1)
        if len(mixed):
            values = ", ".join(str(v) for v in mixed[name][0])
            raise UserError(
                f"{folder}: the rows of task {mixed['task'][0]} disagree about {name} ({values}); they come from "
                "different logs or policies and cannot stand in one table. Report them as two studies"
            )
