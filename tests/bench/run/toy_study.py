"""A small study of the toy task, run once for all tests that look at it."""

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.tasks import find_task
from ropeval.bench.results.rows import load_rows
from ropeval.bench.run.local import run_study
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study
from ropeval.cli.main import main
from tests.bench.played_here import HERE

TASKS = Path(__file__).parents[1] / "toy_tasks.py"
TASK = "toy/countdown"
SMALL = {"width": 8, "depth": 1, "batch": 8}
STUDY = Study(
    name="toy",
    tasks=[TASK],
    methods=["fqe", "rope+fqe", "is"],
    seeds=2,
    steps=20,
    settings={"fqe": SMALL, "rope": SMALL},
    grid={"rope+fqe": {"rope.beta": [0.1, 1.0], "rope.dim": [2, 3]}},
)
MEMBERS = {"mean-reward": 1, "mean-return": 1, "fqe": 2, "rope+fqe": 8}
SCORES = ["task", "method", "hyper", "seed", "estimate", "diverged"]


@cache  # once for all modules that import these fixtures
def collected(place: Path) -> Path:
    folder = place / "toy-data"
    collect(find_task(TASK), folder, truth_episodes=50, pool=HERE)
    return folder


def run(study: Study, folder: Path, data: Path, resume: bool = False):
    store = Store(folder)
    store.create(study, resume)
    return run_study(study, [TASK], store, data)


@cache
def whole_study(place: Path) -> Path:
    folder = place / "toy-study"
    outcome = run(STUDY, folder, collected(place))
    assert (outcome.members, outcome.refused, outcome.failed) == (12, 1, 0)
    return folder


def scores(folder: Path) -> pl.DataFrame:
    return load_rows(folder).select(SCORES).sort(SCORES[:4])


def call(*words: str) -> None:
    """The program, which must end well."""
    with pytest.raises(SystemExit) as left:
        main(["bench", *words])
    assert not left.value.code


def write_toml(path: Path) -> Path:
    lines = [f'tasks = ["{TASK}"]', 'methods = ["fqe", "rope+fqe", "is"]', "seeds = 2", "steps = 20"]
    lines += [f"[settings.{part}]\nwidth = 8\ndepth = 1\nbatch = 8" for part in ("fqe", "rope")]
    lines += ['[grid."rope+fqe"]', '"rope.beta" = [0.1, 1.0]', '"rope.dim" = [2, 3]']
    path.write_text("\n".join(lines))
    return path
