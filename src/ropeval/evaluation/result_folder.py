"""A folder of results: all that a run writes, and all that is read of it.

run.json         what was asked; written first, so that another question cannot mix in
.work/           finished estimates, and checkpoints of the one in progress; removed at the end
trust.json       which policy is best, and how far each lies from the log
curves.parquet   the training curves
result.json      the estimates; once it is there, nothing has to be computed again
curves.png, report.html   drawn from the others (by `report`), and again if they are missing

What the files hold is described in `result.py`.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ropeval.errors import UserError
from ropeval.evaluation.result import Coverage, Estimate, Ranking
from ropeval.files import load_json, locked, remove_leftovers, write_parquet, write_text
from ropeval.words import spelt, writable

PICTURES = ("curves.png", "report.html")
WRITTEN = ("report.html", "result.json", "trust.json", "curves.parquet", "curves.png", "run.json")
T = TypeVar("T")


@dataclass(frozen=True)
class Trust:
    """What `trust.json` holds."""

    ranking: list[Ranking] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    truth: Mapping[str, float] = field(default_factory=dict)  # true values, where a run was told them

    def to_json(self) -> str:
        return spelt(json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False))


def fingerprint(about: Mapping[str, Any]) -> str:
    """Of a question. The same log under another name is the same log."""
    asked = {name: value for name, value in about.items() if name != "log"}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def results_json(results: Sequence[Estimate]) -> str:
    return spelt(json.dumps([r.to_json() for r in results], indent=1, ensure_ascii=False, allow_nan=False))


@dataclass(frozen=True)
class ResultFolder:
    path: Path

    # --- who may write, and whether it may go on with what is there ---

    @contextlib.contextmanager
    def writing(self, about: Mapping[str, Any], resume: bool = False, overwrite: bool = False) -> Iterator[None]:
        """The folder is this process's to write the answers to `about` into; refuses to mix two runs."""
        if not writable(str(self.path)):
            raise UserError(f"{self.path}: this name is no text (not UTF-8); choose another --out")
        if os.path.exists(self.path) and not self.path.is_dir():
            raise UserError(f"{self.path}: this is a file; --out needs a folder")
        with locked(self.path / ".lock") as alone:
            if not alone:
                raise UserError(
                    f"{self.path}: another process is writing results there; wait for it, or choose another --out"
                )
            if not overwrite:
                self._check(fingerprint(about), resume)
            remove_leftovers(self.path, WRITTEN)
            if overwrite:
                self._clear()
            if not self.answered:
                self._write("run.json", json.dumps({"fingerprint": fingerprint(about), **about}, indent=1))
            yield

    def _check(self, asked: str, resume: bool) -> None:
        if not (self.has("run.json") or self.answered):
            return
        if self._recorded_fingerprint() != asked:
            raise UserError(
                f"{self.path}: it holds another run's results; choose another --out, or replace them with --overwrite"
            )
        if not resume:
            raise UserError(
                f"{self.path}: it holds this very run already; add --resume to go on with it (or to see it again), "
                "or --overwrite to start anew"
            )

    def _recorded_fingerprint(self) -> str | None:
        try:
            return str(self.about()["fingerprint"])
        except (UserError, KeyError):
            return None

    def _clear(self) -> None:
        """Remove what a run writes, and nothing else."""
        self._remove(WRITTEN)
        shutil.rmtree(self.work, ignore_errors=True)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                (self.path / name).unlink(missing_ok=True)

    # --- on the way ---

    @property
    def work(self) -> Path:
        return self.path / ".work"

    @property
    def shared(self) -> Path:
        """Checkpoints of what is prepared once for all policies."""
        return self.work / "shared"

    def keep_estimate(self, number: int, estimate: Estimate) -> None:
        write_text(self.work / f"{number}.json", json.dumps(estimate.to_json(everything=True)))
        for finished in (str(number), f"{number}-tune"):
            shutil.rmtree(self.work / finished, ignore_errors=True)

    def kept_estimate(self, number: int) -> Estimate | None:
        path = self.work / f"{number}.json"
        if not path.exists():
            return None
        return _read(path, "an estimate", Estimate.from_json, "; start anew with --overwrite")

    def keep_coverage(self, place: int, covered: Coverage) -> None:
        write_text(self.work / f"coverage-{place}.json", json.dumps(asdict(covered)))

    def _kept_coverage(self) -> list[Coverage]:
        paths = sorted(self.work.glob("coverage-*.json"), key=lambda path: int(path.stem.partition("-")[2]))
        return [_read(path, "coverage", lambda row: Coverage(**row)) for path in paths]

    # --- the answers ---

    @property
    def answered(self) -> bool:
        return self.has("result.json")

    def has(self, name: str) -> bool:
        return os.path.isfile(self.path / name)  # False, and no error, where a name is too long

    @property
    def written(self) -> list[str]:
        """What there is to look at."""
        return [name for name in WRITTEN if name != "run.json" and self.has(name)]

    def write(self, results: Sequence[Estimate], ranking: Sequence[Ranking], truth: Mapping[str, float] | None) -> None:
        """The answers, each file whole or not at all. `result.json` comes last: with it the run is answered."""
        import polars

        rows = [{"policy": r.policy, "method": r.method, **row} for r in results for row in r.curves]
        frame = polars.DataFrame(rows, schema=_curve_columns())
        self._remove(PICTURES)
        self._write("trust.json", Trust(list(ranking), self._kept_coverage(), truth or {}).to_json())
        write_parquet(self.path / "curves.parquet", frame)
        self._write("result.json", results_json(results))

    def add_truth(self, ranking: Sequence[Ranking], truth: Mapping[str, float]) -> None:
        """True values, and the scores by them, for a run that is answered. What was drawn without them goes."""
        told = replace(self.trust(), ranking=list(ranking), truth=truth)
        if told != self.trust():
            self._remove(PICTURES)
            self._write("trust.json", told.to_json())

    def finish(self) -> None:
        """Everything that is named is there: working files are not needed any more."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        write_text(self.path / name, text)

    # --- reading; what an older or simpler run did not write is empty ---

    def about(self) -> dict[str, Any]:
        """What was asked."""
        return self._object("run.json")

    def results(self) -> list[Estimate]:
        """The estimates, without their curves."""
        if not self.answered:
            hint = "give the folder that `ropeval evaluate --out` wrote to"
            if self.has("run.json"):
                hint = "the run was not finished; the same command with --resume goes on"
            raise UserError(f"{self.path}: there is no result.json in it: {hint}")
        return _read(self.path / "result.json", "results", _estimates)

    def trust(self) -> Trust:
        def made(rows: dict[str, Any]) -> Trust:
            ranking = [Ranking(**row) for row in rows.get("ranking", [])]
            return Trust(ranking, [Coverage(**row) for row in rows.get("coverage", [])], rows.get("truth") or {})

        return _made(self.path / "trust.json", "rankings and coverage", made, self._object("trust.json"))

    def curves(self) -> Any:
        """The training curves, a polars frame."""
        import polars

        path = self.path / "curves.parquet"
        if not path.is_file():
            return polars.DataFrame(schema=_curve_columns())
        try:
            with path.open("rb") as file:  # a path would be a pattern
                return polars.read_parquet(file, columns=list(_curve_columns()))
        except (OSError, polars.exceptions.PolarsError) as error:
            raise UserError(f"{path}: cannot be read as training curves ({str(error).splitlines()[0]})") from error

    def _object(self, name: str) -> dict[str, Any]:
        path = self.path / name
        content = load_json(path) if path.is_file() else {}
        if not isinstance(content, dict):
            raise UserError(f"{path}: expected an object, found a {type(content).__name__}")
        return content


def _estimates(rows: Any) -> list[Estimate]:
    if not isinstance(rows, list):
        raise TypeError(f"expected a list, found a {type(rows).__name__}")
    return [Estimate.from_json(row) for row in rows]


def _read(path: Path, what: str, make: Callable[[Any], T], advice: str = "") -> T:
    return _made(path, what, make, load_json(path, what, advice), advice)


def _made(path: Path, what: str, make: Callable[[Any], T], content: Any, advice: str = "") -> T:
    try:
        return make(content)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read as {what} ({error}){advice}") from error


def _curve_columns() -> dict[str, Any]:
    import polars

    return {
        "policy": polars.String,
        "method": polars.String,
        "stage": polars.String,
        "member": polars.Int32,
        "step": polars.Int64,
        "metric": polars.String,
        "value": polars.Float32,
    }
