"""What is killed: the four verbs that write. Each has inputs, a command, one to go on with, and a digest of what it
leaves, in which times and clocks do not count."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.played_here import HERE
from tests.bench.run.toy_study import TASK, TASKS, write_toml
from tests.problems import LinearQuadratic

TIMES = ("seconds", "seconds_prepare", "commit")
Digest = dict[str, str]  # what was left -> its content, or why it does not matter


@dataclass(frozen=True)
class Job:
    name: str
    words: tuple[str, ...]
    again: tuple[str, ...]
    digest: Callable[[Path], Digest]
    needs: tuple[str, ...] = ()  # inputs, by name


def make_inputs(folder: Path) -> None:
    """A log in two formats, a study file, and a collected task."""
    from ropeval.bench.data.collect import collect
    from ropeval.bench.data.tasks import find_task
    from ropeval.data import load_dataset
    from ropeval.data.writers import write_log

    log = LinearQuadratic().log(30)
    names = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    np.savez(folder / "log.npz", **{name: getattr(log, name) for name in names})
    write_log([load_dataset(folder / "log.npz")], folder / "log.parquet", "parquet")
    write_log([LinearQuadratic().log(7)], folder / "o", "columns")
    write_toml(folder / "study.toml")
    collect(find_task(TASK), folder / "data", truth_episodes=50, pool=HERE)


def _files(folder: Path, ignored: tuple[str, ...] = ()) -> Digest:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(ignored):
            found[name] = _content(path)
    return found


def _content(path: Path) -> str:
    if path.suffix == ".json":
        return json.dumps(_without_times(json.loads(path.read_text())), sort_keys=True)
    if path.suffix in (".html", ".png"):
        return "drawn" if path.stat().st_size > 1000 else "empty"
    if path.suffix == ".parquet":
        import polars

        frame = polars.read_parquet(path)
        return frame.drop([name for name in TIMES if name in frame.columns]).write_json()
    if path.suffix == ".npz":  # an archive holds the time
        with np.load(path) as file:
            return _hash(*(name.encode() + file[name].tobytes() for name in sorted(file.files)))
    return _hash(path.read_bytes())


def _hash(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inside) for key, inside in value.items() if key not in TIMES}
    return [_without_times(inside) for inside in value] if isinstance(value, list) else value


def _study(folder: Path) -> Digest:
    """Rows and curves as they are read: how members were parted into units depends on when it was killed."""
    from ropeval.bench.results.rows import load_curves, load_rows

    rows = load_rows(folder / "study").drop("unit", *TIMES)
    keys = ["task", "policy", "method", "hyper", "seed"]
    curves = load_curves(folder / "study")
    names = {str(path.relative_to(folder / "study")) for path in (folder / "study").rglob("*") if path.is_file()}
    odd = {name: "left behind" for name in names if not re.fullmatch(r"study\.json|units/[^.].*\.parquet", name)}
    order = [*keys, "stage", "step", "metric"]
    return odd | {
        "rows": rows.sort(keys).write_json(),
        "curves": curves.sort(order, maintain_order=True).select(sorted(curves.columns)).write_json(),
    }


FQE = ("--set", "fqe.width=16", "--set", "fqe.depth=1", "--members", "2", "--steps", "400", "--draws", "1")
EVALUATE = ("evaluate", "log.npz", "uniform", "--method", "mean-return", "--method", "fqe", *FQE, "--out", "out")
RUN = ("bench", "run", "study.toml", "--out", "study", "--data", "data")
COLLECT = ("bench", "collect", TASK, "--data", "collected", "--processes", "2")
REPLACE = ("data", "convert", "log.parquet", "o", "--overwrite")
INPUTS = ("log.npz", "log.parquet", "study.toml", "data")
OTHERS = ("writes", *INPUTS)


def _left(folder: Path) -> Digest:
    return _files(folder, OTHERS)


JOBS = (
    Job("evaluate", EVALUATE, (*EVALUATE, "--resume"), _left, ("log.npz",)),
    Job("bench run", RUN, (*RUN, "--resume"), _study, ("study.toml", "data")),
    Job("bench collect", COLLECT, COLLECT, _left),
    Job("data convert to columns", ("data", "convert", "log.parquet", "o"), (), _left, ("log.parquet",)),
    Job("data convert over another", REPLACE, REPLACE, _left, ("log.parquet", "o")),
    Job("data convert to npz", ("data", "convert", "log.parquet", "o.npz"), (), _left, ("log.parquet",)),
    Job("data convert to parquet", ("data", "convert", "log.npz", "o.parquet"), (), _left, ("log.npz",)),
)
ENVIRONMENT = {"ROPEVAL_TASKS": str(TASKS), "JAX_PLATFORMS": "cpu"}


def prepare(job: Job, inputs: Path, folder: Path) -> None:
    folder.mkdir()
    for name in job.needs:
        source = inputs / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
