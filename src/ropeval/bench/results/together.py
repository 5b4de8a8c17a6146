"""The results of one study, or of several read together: published rows beside one's own, say.

Within one folder, all rows of a task come from one log; `bench.results.rows` refuses anything else. Between folders the
logs may differ, since nobody collects the same bits twice on two kinds of machine: what must agree is the question and
the methods (`bench.results.comparable`). The report then says which rows come from which log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ropeval.bench.results.comparable import QUESTION, VALUES, refuse_disagreement
from ropeval.bench.results.rows import RUN, Failure, Progress, load_curves, load_failures, load_rows
from ropeval.bench.run.study import Study, read_study
from ropeval.errors import UserError


@dataclass(frozen=True)
class Part:
    """What stands in one folder."""

    folder: Path
    study: Study
    rows: pl.DataFrame
    failures: list[Failure]


@dataclass(frozen=True)
class Results:
    """What stands in one or several folders. A run that stands in two counts once, as the first folder has it."""

    parts: tuple[Part, ...]
    study: Study
    rows: pl.DataFrame

    @property
    def folders(self) -> list[Path]:
        return [part.folder for part in self.parts]

    @property
    def failures(self) -> list[Failure]:
        return [failure for part in self.parts for failure in part.failures]

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def logs(self) -> list[str]:
        """A sentence for each task whose rows come from more than one log."""
        said = []
        for (task,), own in self.rows.group_by("task", maintain_order=True):
            by_log = own.group_by("data_sha256", maintain_order=True).agg(pl.col("method").unique().sort())
            if len(by_log) > 1:
                words = [f"{', '.join(methods)} from {(log or 'unknown')[:8]}" for log, methods in by_log.iter_rows()]
                said.append(f"{task}: {len(by_log)} logs, collected anew from the same policies: {'; '.join(words)}")
        return said

    def curves(self, points: int | None = None, progress: Progress | None = None) -> pl.DataFrame:
        """All curves, of the same runs as the rows; see `load_curves`."""
        frames: list[pl.DataFrame] = []
        for place, part in enumerate(self.parts):
            frame = load_curves(part.folder, points, _share(progress, place, len(self.parts)))
            for earlier in self.parts[:place]:
                known = earlier.rows.select(RUN)
                known = pl.concat([known, known.with_columns(policy=pl.lit(""))])  # with what all policies share
                frame = frame.join(known.cast({pl.String: pl.Categorical}), on=RUN, how="anti")
            frames.append(frame)
        return pl.concat(frames)


def load_results(folders: Sequence[Path]) -> Results:
    """Read studies together. Where a run stands in two folders, and where true values differ, the first one counts."""
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError(f"{', '.join(map(str, folders))}: the same folder is named twice")
    parts = [Part(f, read_study(f), load_rows(f), load_failures(f)) for f in folders]
    rows = parts[0].rows
    for part in parts[1:]:
        refuse_disagreement(rows, part.rows, part.folder)
        rows = _one_truth(pl.concat([rows, part.rows.join(rows, on=RUN, how="anti")]))
    return Results(tuple(parts), _together([part.study for part in parts]), rows.sort(RUN))


def _one_truth(rows: pl.DataFrame) -> pl.DataFrame:
    """One policy of a task has one truth in a table: of each value, the first that was measured, with its own error."""
    return rows.with_columns(
        pl.col(column).filter(pl.col(value).is_not_null()).first().over(QUESTION)
        for value in VALUES
        for column in (value, f"{value}_se")
    )


def _together(studies: Sequence[Study]) -> Study:
    """What all of them ask for; the first one's name and protocol."""
    return studies[0].model_copy(
        update={
            "tasks": list(dict.fromkeys(task for study in studies for task in study.tasks)),
            "methods": list(dict.fromkeys(method for study in studies for method in study.methods)),
            "grid": {method: grid for study in reversed(studies) for method, grid in study.grid.items()},
            "seeds": max(study.seeds for study in studies),
        }
    )


def _share(progress: Progress | None, place: int, parts: int) -> Progress | None:
    return None if progress is None else lambda fraction: progress((place + fraction) / parts)
