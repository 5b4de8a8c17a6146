"""Other libraries' estimators beside ropeval's, on the same logs: error and seconds, in docs/results/peers.md.

    python -m benchmarks.peers --data DATA --python PEERS/bin/python [--policies 1] [--page PAGE.md]

DATA holds collected tasks of the suite (`ropeval bench collect`). PEERS is an environment of its own, so that nothing
of it comes near ropeval's:

    pip install torch==2.13.0                                    (for the CPU)
    pip install --no-deps d3rlpy scope-rl offline_rl_ope
    pip install gymnasium==1.0.0 gym structlog click colorama dataclasses-json tqdm h5py scikit-learn \\
        pandas matplotlib seaborn hydra-core pytorch-revgrad==0.2.0 jaxtyping typeguard==2.13.3

Only policies of the dev split are judged. Everything learns once, from the log as it is, and in as many steps as its
own library says (`OWN` in `peer_estimators.py`); `--steps` is for a quick look.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peer_fqe import Seconds
from benchmarks.suite_page import ROOT, filled

import ropeval
from ropeval.bench.data.task_data import Judged, TaskData, load_task
from ropeval.errors import UserError
from ropeval.files import write_text
from ropeval.provenance import commit
from ropeval.report.table import Table, Value
from ropeval.report.typeset import to_markdown
from ropeval.runtime import cores, processor

TASKS = ("suite/cartpole-mixture-5k", "suite/inventory-200", "suite/icu-1000")
METHODS = ("mean-return", "is", "wis", "pdis", "wpdis", "lspe", "fqe", "fqe-trees", "dr", "wdr")
LEARNING = ("fqe", "dr", "wdr")  # those that take steps
PEER = "benchmarks.peer_estimators"
PAGE = ROOT / "docs" / "results" / "peers.md"
BEGIN = "<!-- from here on: python -m benchmarks.peers -->"
LONGEST = 200  # letters of a reason

Row = dict[str, Any]  # library, method, CPU and clock seconds, and value or reason
NAMES = ("library", "method", "errors", "cpu", "clock", "reason")


def ours(data: TaskData, judged: Judged, steps: int | None) -> Iterator[Row]:
    for method in METHODS:
        settings = {method: {"steps": steps}} if steps and method in LEARNING else {}
        began = Seconds()
        found = ropeval.evaluate(
            data.dataset, judged.policy, method, gamma=data.task.gamma, members=1, resample=False, settings=settings
        )
        yield {"library": "ropeval", "method": method, "value": found.value, **began.so_far()}


def theirs(data: TaskData, judged: Judged, steps: int | None, python: Path) -> list[Row]:
    log = data.dataset
    policy = judged.policy.fitted(log.space).action_probabilities(log.observations)
    if policy is None or log.log_probs is None:
        raise UserError(f"task {data.task.name}: the peers need propensities, and π(a|s) of discrete actions")
    with tempfile.TemporaryDirectory() as folder:
        question = Path(folder) / "question.npz"
        np.savez(
            question, observations=log.observations, actions=log.actions, rewards=log.rewards, starts=log.starts,
            terminations=log.terminations, log_probs=log.log_probs, policy=policy, gamma=data.task.gamma,
        )  # fmt: skip
        ran = subprocess.run(
            [python, "-m", PEER, question, str(steps or 0)], capture_output=True, text=True, cwd=folder, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    if ran.returncode:
        raise UserError(f"{python}: {PEER} failed: {ran.stderr.strip().splitlines()[-1]}")
    found: list[Row] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compare(name: str, data: Path, python: Path, steps: int | None, policies: int) -> list[Row]:
    """One row for each library and method: errors of the policies in % of the task's range, seconds of all."""
    rows: dict[tuple[str, str], Row] = {}
    task = load_task(name, data)
    worth = [judged.truth.discounted.value for judged in task.judged.values()]
    unit = (max(worth) - min(worth)) / 100.0
    for judged in [judged for judged in task.judged.values() if judged.split == "dev"][:policies]:
        for row in (*ours(task, judged, steps), *theirs(task, judged, steps, python)):
            place = row["library"], row["method"]
            kept = rows.setdefault(place, dict(zip(NAMES, (*place, [], 0.0, 0.0, ""), strict=True)))
            value = row.get("value")
            kept["errors"].append(None if value is None else (value - judged.truth.discounted.value) / unit)
            for seconds in ("cpu", "clock"):
                kept[seconds] += row.get(seconds, 0.0)
            kept["reason"] = str(row.get("reason", kept["reason"]))[:LONGEST]
    return list(rows.values())


def table(rows: Sequence[Row], task: str) -> Table:
    cells: list[list[Value]] = [
        [row["library"], row["method"], _errors(row["errors"]), *(round(row[s], 1) for s in ("cpu", "clock")),
         row["reason"] or ""]
        for row in rows
    ]  # fmt: skip
    columns = ["library", "method", "errors, %", "CPU s", "clock s", "why not"]
    return Table(columns, cells, title=task.removeprefix("suite/"))


def _errors(errors: Sequence[float | None]) -> str:
    return ", ".join("–" if error is None or not np.isfinite(error) else f"{error:+.1f}" for error in errors)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--steps", type=int, help="of all that learns, at most; default: each library's own number")
    parser.add_argument("--policies", type=int, default=1, help="of each task")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    steps = f", at most {options.steps:,} steps" if options.steps else ""
    where = f"{cores()} core{'s' if cores() > 1 else ''} ({processor()}), commit {commit()}{steps}."
    words = [where]
    for task in options.tasks:  # what is done is kept
        rows = compare(task, options.data, options.python, options.steps, options.policies)
        words.append(to_markdown(table(rows, task), level=3).strip())
        write_text(options.page, filled(options.page.read_text(encoding="utf-8"), "\n\n".join(words), BEGIN))
    print(options.page)


if __name__ == "__main__":
    main()
