"""The results of one study, or of several read together: published rows beside one's own, say.

Within one folder, all rows of a task come from one log; `ropeval.bench.rows` refuses anything else. Between folders the
logs may differ, since nobody collects the same bits twice on two kinds of machine: what must agree is the question (the
policy, γ, and the true values up to their errors). The report then says which rows come from which log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ropeval.bench.rows import TRUTHS, Failure, Progress, load_curves, load_failures, load_rows, load_study
from ropeval.errors import UserError

RUN = ["protocol", "task", "method", "hyper", "seed"]
VALUES = [f"{whose}_{truth}" for truth in TRUTHS for whose in ("truth", "random")]
FAR = 4.0  # standard errors between two measurements of one value: beyond, it is not one value


@dataclass(frozen=True)
class Results:
    """What stands in one or several folders. A run that stands in two counts once, as the first folder has it."""

    folders: tuple[Path, ...]
    study: dict[str, Any]
    rows: pl.DataFrame
    failures: list[Failure]

    @property
    def name(self) -> str:
        return str(self.study.get("name", self.folders[0].resolve().name))

    @property
    def logs(self) -> list[str]:
        """A sentence for each task whose rows come from more than one log."""
        said = []
        for (task,), own in self.rows.group_by("task", maintain_order=True):
            by_log = own.group_by("data_sha256", maintain_order=True).agg(pl.col("method").unique().sort())
            if len(by_log) > 1:
                parts = "; ".join(f"{', '.join(methods)} from {log[:8]}" for log, methods in by_log.iter_rows())
                said.append(f"{task}: {len(by_log)} logs, collected anew from the same policies: {parts}")
        return said

    def curves(self, points: int | None = None, progress: Progress | None = None) -> pl.DataFrame:
        """All curves; see `load_curves`."""
        known, frames = None, []
        for place, folder in enumerate(self.folders):
            tell = _share(progress, place, len(self.folders))
            frame = load_curves(folder, points, tell).with_columns(pl.col(pl.Categorical).cast(pl.String))
            frames.append(frame if known is None else frame.join(known, on=RUN, how="anti"))
            runs = frame.select(RUN).unique()
            known = runs if known is None else pl.concat([known, runs]).unique()
        return pl.concat(frames).with_columns(pl.col(pl.String).cast(pl.Categorical))


def load_results(folders: Sequence[Path]) -> Results:
    """Read studies together. Where a run stands in two folders, and where true values differ, the first one counts."""
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError(f"{', '.join(map(str, folders))}: the same folder is named twice")
    studies = [load_study(folder) for folder in folders]
    rows = load_rows(folders[0])
    for folder in folders[1:]:
        more = load_rows(folder).join(rows, on=RUN, how="anti")
        rows = pl.concat([rows, _with_values_of(rows, more, folder)])
    failures = [failure for folder in folders for failure in load_failures(folder)]
    return Results(tuple(folders), _together(studies), rows.sort(RUN), failures)


def _with_values_of(known: pl.DataFrame, more: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """`more` with the true values that `known` has of its tasks: one task has one truth in a table."""
    shared = ["protocol", "task"]
    first = known.unique(shared, keep="first", maintain_order=True)
    both = more.unique(shared, keep="first", maintain_order=True).join(first, on=shared, suffix="_known")
    for row in both.iter_rows(named=True):
        for name in ("gamma", "policy_sha256"):
            if row[name] != row[f"{name}_known"]:
                raise UserError(
                    f"{folder}: {row['task']} has {name} {row[name]}, an earlier folder has {row[f'{name}_known']}: "
                    "another question, which cannot stand in one table with it. Report them apart"
                )
        for name in VALUES:
            _refuse_if_far(folder, row, name)
    columns = [name for value in VALUES for name in (value, f"{value}_se")]
    renamed = first.select(*shared, pl.col(columns).name.suffix("_known"))
    joined = more.join(renamed, on=shared, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce(f"{name}_known", name).alias(name) for name in columns).select(known.columns)


def _refuse_if_far(folder: Path, row: dict[str, Any], name: str) -> None:
    here, there = row[name], row[f"{name}_known"]
    if here is None or there is None:
        return
    error = np.hypot(row[f"{name}_se"] or 0.0, row[f"{name}_se_known"] or 0.0)
    if abs(here - there) > FAR * error and not np.isclose(here, there):
        raise UserError(
            f"{folder}: {row['task']} has {name} {here:.6g}, an earlier folder has {there:.6g}, more than {FAR:g} "
            f"standard errors ({error:.2g}) apart: other environments or policies? Report them apart"
        )


def _together(studies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all of them ask for."""
    whole = dict(studies[0])
    for study in studies[1:]:
        for field in ("tasks", "methods"):
            whole[field] = list(dict.fromkeys([*_listed(whole, field), *_listed(study, field)]))
        grids, more = whole.get("grid"), study.get("grid")
        if isinstance(grids, dict) and isinstance(more, dict):
            whole["grid"] = {**more, **grids}
        seeds = [s["seeds"] for s in (whole, study) if isinstance(s.get("seeds"), int)]
        if seeds:
            whole["seeds"] = max(seeds)
    return whole


def _listed(study: dict[str, Any], field: str) -> list[Any]:
    value = study.get(field)
    return value if isinstance(value, list) else []


def _share(progress: Progress | None, place: int, parts: int) -> Progress | None:
    return None if progress is None else lambda fraction: progress((place + fraction) / parts)
