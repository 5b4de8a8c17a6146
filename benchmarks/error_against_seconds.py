"""Error against seconds on the same log: d3rlpy's FQE as training goes on, and ropeval's methods.

    python -m benchmarks.error_against_seconds --data DATA --out OUT --python PEERS/bin/python [--core 0]
    python -m benchmarks.error_against_seconds --out OUT --summarise [--picture docs/results/speed]

PEERS is the environment of `benchmarks/peers.py`. Only policies of the dev split are judged. Every question is put in a
process of its own with one core and one thread, and with nothing compiled before. Every row is kept as it is made: an
interrupted run goes on, and two may run at once where their tasks differ.

d3rlpy trains one network; ropeval's `members` are networks, too: 1 is the fair comparison, 5 is what a user gets.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.dev_rows import Dev, carry_out, keep, options_of, rows
from benchmarks.error_seconds_page import picture, table
from benchmarks.peer_fqe import LIKE_OURS, Settings
from benchmarks.program import run as run_program

from ropeval.bench.data.task_data import Judged, TaskData, load_task
from ropeval.errors import UserError
from ropeval.estimators.fqe import FQEConfig
from ropeval.policies.policy import draw_actions
from ropeval.provenance import commit
from ropeval.report.draw_paper import draw
from ropeval.runtime import processor

ROOT = Path(__file__).resolve().parents[1]
TASKS = ["suite/cartpole-mixture-5k", "suite/pendulum-weak-20k"]
DRAWS = 8  # actions per state, as many as ropeval draws itself
POINTS = 100  # of d3rlpy's curve
ALONE = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
}


class Own(NamedTuple):
    """A method of ropeval; `steps`: where they are not its own."""

    method: str
    members: int
    steps: int | None = None

    @property
    def name(self) -> str:
        return self.method if self.method == "mean-return" else f"{self.method}, {members(self.members)}"


def members(count: int) -> str:
    return f"{count} member{'s' if count > 1 else ''}"


def ours(many: int) -> list[Own]:
    """Everything with one member, and with as many as a user has."""
    return [
        Own("mean-return", 1), Own("fqe-clip", 1), Own("fqe-clip", many), Own("world", 1), Own("world", many),
        Own("world", 1, 500), Own("world", many, 500), Own("fqe", 1, 15_000), Own("fqe", many),
    ]  # fmt: skip


def peers(data: TaskData, steps: int) -> dict[str, Settings]:
    """By the name in the table."""
    return {
        "d3rlpy FQE, its settings": Settings(steps=steps),
        "d3rlpy FQE, like fqe": LIKE_OURS._replace(steps=FQEConfig().steps_for(len(data.dataset), data.task.gamma)),
    }


def ask_peer(data: TaskData, judged: Judged, settings: Settings, python: Path) -> dict[str, Any]:
    log = data.dataset
    policy = judged.policy.fitted(log.space)
    chances = policy.action_probabilities(log.observations)
    acts: dict[str, Any] = {"policy": chances}
    if chances is None:
        acts = {"draws": draw_actions(policy, log.observations, DRAWS, np.random.default_rng(0))}
    with tempfile.TemporaryDirectory() as folder:
        question = Path(folder) / "question.npz"
        np.savez(
            question, observations=log.observations, actions=log.actions, rewards=log.rewards, starts=log.starts,
            terminations=log.terminations, gamma=data.task.gamma, **acts,
        )  # fmt: skip
        marks = np.linspace(0, settings.steps, POINTS + 1, dtype=int)[1:].tolist()
        given = {**settings._asdict(), "marks": marks}
        return _told([python, "-m", "benchmarks.peer_fqe", question], given, Path(folder))


def ask_own(task: str, data: Path, policy: str, own: Own) -> dict[str, Any]:
    case = {"task": task, "data": str(data.resolve()), "policy": policy, **own._asdict()}
    with tempfile.TemporaryDirectory() as folder:
        return _told([sys.executable, "-m", "benchmarks.own_curve"], case, Path(folder))


def _told(command: list[Any], given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The last line that a process says, given a file of what it is asked."""
    file = folder / "given.json"
    file.write_text(json.dumps(given))
    ran = subprocess.run(
        [*command, file], capture_output=True, text=True, cwd=folder, check=False, env={**os.environ, **ALONE}
    )
    if ran.returncode:
        raise UserError(f"{' '.join(map(str, command))}: failed: {ran.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def run(options: argparse.Namespace) -> None:
    if options.python and not options.python.exists():
        raise UserError(f"--python {options.python}: not there; make the environment as benchmarks/peers.py says")
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})  # children inherit it
    done = {(row["task"], row["policy"], row["who"], row["asked_steps"]) for row in rows(options.out)}
    for task in options.tasks:
        data = load_task(task, options.data)
        dev = Dev.of(data)
        for policy, judged in reversed(dev.best(options.policies)):
            about = {"task": task, "policy": policy, "truth": judged.truth.discounted.value, "range": dev.wide}
            for who, steps, ask in _questions(options, data, policy, judged):
                if (task, policy, who, steps) in done or (options.who and who not in options.who):
                    continue
                found = ask()
                where = {"cpu": processor(), "commit": commit()}
                keep(options.out, {**about, "who": who, "asked_steps": steps, **found, **where})
                last = found["points"][-1]
                print(task, policy, who, last["steps"], last["value"], about["truth"], last["cpu"], flush=True)


def _questions(options: argparse.Namespace, data: TaskData, policy: str, judged: Judged) -> Iterator[Any]:
    """Who, in how many steps, and how to ask."""
    for name, settings in peers(data, options.peer_steps).items():
        if options.python:
            yield name, settings.steps, lambda s=settings: ask_peer(data, judged, s, options.python)
    for own in ours(options.members):
        yield own.name, own.steps, lambda own=own: ask_own(data.task.name, options.data, policy, own)


def main() -> None:
    parser = options_of(__doc__, TASKS, policies=3)
    parser.set_defaults(members=5)
    parser.add_argument("--python", type=Path, help="of the environment with d3rlpy; ropeval alone, if not given")
    parser.add_argument("--peer-steps", type=int, default=20_000, help="of d3rlpy's FQE with its settings")
    parser.add_argument("--who", nargs="+", help="some rows of the table; all, if not given")
    parser.add_argument("--core", type=int, help="to stay on")
    parser.add_argument("--picture", type=Path, help="folder for the picture")
    options = parser.parse_args()
    carry_out(options, run, lambda out: table(rows(out)))
    if options.picture:
        found = rows(options.out)
        commits = ", ".join(sorted({row["commit"] for row in found}))
        source = f"One core of {found[0]['cpu']}, commits {commits}: python -m benchmarks.error_against_seconds"
        print(*draw(picture(found), options.picture, ["png"], source))


if __name__ == "__main__":
    run_program(main)
