"""Where a study's results lie. Every file is there whole or not at all; the rows of a unit are written last.

    STUDY/study.json                     what was asked for
    STUDY/units/UNIT.rows.parquet        one row per member and policy: its presence says that the unit is done
    STUDY/units/UNIT.curves.parquet      the training curves, long
    STUDY/units/UNIT.….failed.json       why a unit gave no rows for a policy; removed when it is tried again
    STUDY/work/…                         locks, progress, checkpoints of units in progress

Locks are the operating system's (flock): they end with the process that holds them, however it ends.
"""

import fnmatch
import glob
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ropeval.bench.data.task_data import EVALUATED
from ropeval.bench.run.study import Group, Study, Unit, digest, read_study, slug
from ropeval.errors import UserError
from ropeval.files import locked, remove_leftovers, sole_writer, write_parquet, write_text

# What may not change within one folder: such rows are never mixed.
FIXED = ("protocol", "gamma", "draws", "key", "resample")
KINDS = (".rows.parquet", ".curves.parquet", ".failed.json")  # files of a unit
STUDY = "study.json"
PROGRESS_EVERY = 2.0  # seconds
PACKED = "packed"  # the name of what holds many units in one file: see `pack.py`


@dataclass(frozen=True)
class Store:
    folder: Path

    # --- the study ---

    def check(self, study: Study, resume: bool) -> Study:
        """Whether the folder can take this study. A study may grow by tasks, methods, settings and seeds; returns all
        that the folder will then hold. Writes nothing."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"{self.folder}: this is a file; --out needs a folder")
        names = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        if STUDY in names:
            if not resume:
                raise UserError(
                    f"{self.folder}: there is a study in this folder; add --resume to go on with it (what is done is "
                    "kept and not run again), or choose another --out"
                )
            return merge(self.study(), study, self.folder)
        if any(not name.startswith(f".{STUDY}.") for name in names):  # that is another process about to write it
            raise UserError(f"{self.folder}: this folder holds something else; choose another --out")
        return study

    def create(self, study: Study, resume: bool) -> None:
        """Start a folder, or go on in one. Of several processes that do so, each adds to what the one before wrote."""
        with sole_writer(self.folder / STUDY, patience=30.0):
            whole = self.check(study, resume)
            write_text(self.folder / STUDY, json.dumps(whole.model_dump(), indent=1, ensure_ascii=False))

    def study(self) -> Study:
        return read_study(self.folder)

    # --- results ---

    def done(self, group: Group) -> set[tuple[str, int, str]]:
        """(hyper, seed, policy) of all rows of a group."""
        frames = self._rows(f"{group.name}.*", ["hyper", "seed", "policy"])
        return {row for rows in frames for row in rows.iter_rows()}

    def policies(self, task: str) -> tuple[str, ...]:
        """The policies that the rows of a task judge; before there are any, one is expected."""
        found = {name for rows in self._rows(f"{slug(task)}.*", ["policy"]) for name in rows["policy"].unique()}
        return tuple(sorted(found)) or (EVALUATED,)

    def logs(self, task: str) -> set[str]:
        """Hashes of the logs that the rows of a task come from: one, if all is well."""
        return {sha for rows in self._rows(f"{slug(task)}.*", ["data_sha256"]) for sha in rows["data_sha256"]}

    def write(self, unit: Unit, rows: pl.DataFrame, curves: pl.DataFrame) -> None:
        """Rows come last: they say that all is there."""
        write_parquet(self._unit(unit, "curves.parquet"), curves)
        write_parquet(self._unit(unit, "rows.parquet"), rows)

    def fail(self, unit: Unit, policy: str, error: str, refused: bool) -> None:
        """`refused`: the method has no answer for this policy, and trying again will not change that."""
        about = {
            "unit": unit.id, "task": unit.task, "method": unit.method, "hyper": unit.hyper, "policy": policy,
            "error": error, "refused": refused, "members": len(unit.members),
        }  # fmt: skip
        path = self._unit(unit, f"{digest(policy)}.failed.json")
        write_text(path, json.dumps(about, indent=1, ensure_ascii=False))

    def effort(self) -> tuple[float, float]:
        """(seconds, member-steps) of all units that were trained: the rate to expect of the rest."""
        seconds = steps = 0.0
        for rows in self._rows("*", ["config", "seconds", "policy"]):
            own = sum(_steps(json.loads(config)) for config in rows["config"])
            if own:  # all members of a policy train together
                seconds, steps = seconds + float(rows.unique("policy")["seconds"].sum()), steps + own
        return seconds, steps

    def _rows(self, units: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        """Some columns of every unit whose name fits the pattern."""
        place = self.folder / "units"
        packed = place / f"{PACKED}.rows.parquet"
        for path in [*sorted(place.glob(f"{units}.rows.parquet")), *([packed] if packed.exists() else [])]:
            try:
                known = [name for name in columns if name in pl.read_parquet_schema(path)]
                found = pl.read_parquet(path, columns=[*known, "unit"], glob=False)
                found = found.filter(pl.col("unit").map_elements(_fits(units), pl.Boolean)).select(known)
                yield found if known == columns else found.with_columns(policy=pl.lit(EVALUATED)).select(columns)
            except (OSError, pl.exceptions.PolarsError) as error:
                raise UserError(f"{path}: cannot be read ({error}); delete it and go on with --resume") from error

    def failures(self) -> list[dict[str, Any]]:
        return [{"unit": path.name} | content for path, content in failure_files(self.folder)]

    def refused(self, group: Group) -> bool:
        return any(content.get("refused") for _, content in failure_files(self.folder, group.name))

    def clear_failures(self, group: Group) -> None:
        for path in (self.folder / "units").glob(f"{group.name}.*.failed.json"):
            path.unlink(missing_ok=True)
        packed = self.folder / "units" / f"{PACKED}.failed.json"
        together, own = (failure_files(self.folder, name) for name in (None, group.name))
        left = [one for path, one in together if path == packed and (path, one) not in own]
        if any(path == packed for path, _ in own):
            write_text(packed, json.dumps({"failures": left}, indent=1, ensure_ascii=False))

    # --- work in progress ---

    @contextmanager
    def claim(self, group: Group) -> Iterator[bool]:
        """Whether the group is this process's for the length of the block. What a killed one half wrote of it goes."""
        with locked(self.folder / "work" / f"{group.name}.lock") as ours:
            if ours:
                units, name = self.folder / "units", glob.escape(group.name)
                remove_leftovers(units, [f"{name}.*{end}" for end in KINDS])
                for done in units.glob(f"{name}.*.rows.parquet"):  # it may have ended between writing and forgetting
                    self.forget(done.name.removesuffix(".rows.parquet"))
            yield ours

    def claimed(self, group: Group) -> bool:
        if not (self.folder / "work" / f"{group.name}.lock").exists():
            return False
        with self.claim(group) as free:
            return not free

    def checkpoints(self, unit: Unit) -> Path:
        return self.folder / "work" / unit.id

    def note(self, unit: Unit, fraction: float, last: float = 0.0) -> float:
        """Let `bench status` see how far a unit is; at most every few seconds. Returns when it was last written."""
        now = time.monotonic()
        if now - last < PROGRESS_EVERY:
            return last
        write_text(
            self.folder / "work" / f"{unit.id}.json", json.dumps({"members": len(unit.members), "fraction": fraction})
        )
        return now

    def notes(self, group: Group) -> float:
        """Members' worth of work that units in progress of a group have behind them."""
        found = [_json(path) for path in (self.folder / "work").glob(f"{group.name}.*.json")]
        return sum(note["members"] * note["fraction"] for note in found)

    def forget(self, unit: str) -> None:
        """By its id: there may be nothing else left of it."""
        shutil.rmtree(self.folder / "work" / unit, ignore_errors=True)
        (self.folder / "work" / f"{unit}.json").unlink(missing_ok=True)

    def _unit(self, unit: Unit, kind: str) -> Path:
        return self.folder / "units" / f"{unit.id}.{kind}"


def failure_files(
    folder: Path, group: str | None = None, read: Callable[[Path], dict[str, Any]] | None = None
) -> list[tuple[Path, dict[str, Any]]]:
    """What failed or was refused, and where that stands; of a group, or of all. A packed study has it in one file."""
    read = read or _json
    units, packed = folder / "units", folder / "units" / f"{PACKED}.failed.json"
    paths = sorted(units.glob(f"{group}.*.failed.json" if group else "*.failed.json"))
    found = [(path, read(path)) for path in paths if path != packed]
    together = read(packed).get("failures", []) if packed.exists() else []
    if not isinstance(together, list) or not all(isinstance(one, dict) for one in together):
        raise UserError(f"{packed}: failures must be a list of JSON objects")
    fits = _fits(f"{group}.*" if group else "*")
    return found + [(packed, one) for one in together if fits(str(one.get("unit", "")))]


def _fits(units: str) -> Callable[[str], bool]:
    return lambda unit: fnmatch.fnmatchcase(unit, units)


def _steps(config: dict[str, Any]) -> int:
    """Of all that a row stands for."""
    parts = [part for name, part in config.items() if isinstance(part, dict) and name != "grid"]
    return int(config.get("resamples", 1)) * sum(part.get("steps") or 0 for part in parts)


def merge(old: Study, new: Study, folder: Path) -> Study:
    """Both studies in one, where their rows may stand side by side."""
    for field in FIXED:
        before, now = getattr(old, field), getattr(new, field)
        if before != now:
            raise UserError(
                f"{folder}: this study has {field} {before!r}, the study file has {now!r}; results of the two are "
                "never mixed: choose another --out"
            )
    for method in [m for m in old.all_methods if m in new.all_methods]:
        if old.make(method, {}).configs != new.make(method, {}).configs:
            raise UserError(
                f"{folder}: the settings of {method} are not those that this study was begun with; choose another --out"
            )
    if new.resample and old.seeds != new.seeds:
        raise UserError(
            f"{folder}: this study resamples the log {old.seeds} times for each row, the study file {new.seeds} times; "
            "choose another --out"
        )
    grid = {method: dict(fields) for method, fields in old.grid.items()}
    for method, fields in new.grid.items():
        mine = grid.setdefault(method, {})
        for name, values in fields.items():
            mine[name] = [*mine.get(name, []), *(v for v in values if v not in mine.get(name, []))]
    return new.model_copy(
        update={
            "name": old.name,
            "tasks": list(dict.fromkeys([*old.tasks, *new.tasks])),
            "methods": list(dict.fromkeys([*old.methods, *new.methods])),
            "seeds": max(old.seeds, new.seeds),
            "split": old.split if old.split == new.split else None,
            "settings": {**old.settings, **new.settings},
            "grid": grid,
        }
    )


def _json(path: Path) -> dict[str, Any]:
    """It only informs: one that is gone meanwhile, or damaged, counts for nothing."""
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return {"members": 0, "fraction": 0.0}
