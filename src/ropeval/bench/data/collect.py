"""Make a task's log and true values, with parallel processes, interruptible.

DATA/<task>/v<version>/log/          the log, memory-mapped columns with their metadata
DATA/<task>/v<version>/policies/     the policy files that were used
DATA/<task>/v<version>/truth.json    true values of π_e, π_b and the random policy
DATA/truth/                          true values by environment and policy, shared by tasks

Needs no command-line libraries: `python -m ropeval.bench.data.collect TASK --data DIR` works where only NumPy,
Pydantic, Gymnasium and MuJoCo are installed beside JAX.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ropeval.bench.data.episodes import make_environment
from ropeval.bench.data.policy_files import LocatedPolicy, locate
from ropeval.bench.data.rollouts import stream_truth
from ropeval.bench.data.streams import Stream
from ropeval.bench.data.task_data import DEFAULT_DATA, TaskData, is_collected, load_task
from ropeval.bench.data.tasks import ROLES, Role, Task, find_tasks
from ropeval.bench.data.truth import PolicyTruth, Truth
from ropeval.bench.data.workers import Recipe, Report, play_streams
from ropeval.data.columns import ColumnsWriter
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.files import locked, read_npz, write_atomically, write_text
from ropeval.policies import Policy
from ropeval.version import __version__

__all__ = ["TaskData", "collect", "is_collected", "load_task"]

TRUTH_EPISODES = 300  # as the paper


def collect(
    task: Task,
    data: Path = DEFAULT_DATA,
    policies: Path | None = None,
    seed: int = 0,
    processes: int | None = None,
    truth_episodes: int = TRUTH_EPISODES,
    overwrite: bool = False,
    report: Report | None = None,
) -> Path:
    """Collect a task's log and true values, or what is missing of them; returns its folder."""
    folder = data / task.folder
    if is_collected(task, data) and not overwrite:
        return folder
    located = {role: locate(task, role, policies) for role in ROLES}
    loaded = {role: source.load() for role, source in located.items()}
    make_environment(task.environment)[0].close()  # refuses what is not installed, before anything is written
    plan = _plan(task, seed, truth_episodes, located, loaded)
    with locked(folder / ".lock") as alone:
        if not alone:
            raise UserError(f"{folder}: another process is collecting this task; wait for it")
        if overwrite:
            for name in ("log", "parts", "policies"):
                shutil.rmtree(folder / name, ignore_errors=True)
            (folder / "truth.json").unlink(missing_ok=True)
            for role in ROLES:
                _truth_file(_truth_stream(task, role, data, located[role], plan)[0]).unlink(missing_ok=True)
        _agree_on_plan(folder / "parts" / "plan.json", plan)
        log = {role: _log_stream(task, role, folder, located[role], seed) for role in task.mixture}
        values = {role: _truth_stream(task, role, data, located[role], plan) for role in ROLES}
        missing = [values[role] for role in ROLES if not _truth_file(values[role][0]).exists()]
        play_streams([*log.values(), *missing], processes or os.cpu_count() or 1, report)
        _write_log(folder / "log", {role: stream for role, (stream, _) in log.items()}, plan)
        truths = {role: _finish_truth(stream, task.gamma, loaded[role]) for role, (stream, _) in values.items()}
        _copy_policies(folder / "policies", located)
        write_text(folder / "truth.json", Truth(gamma=task.gamma, **truths).model_dump_json(indent=1) + "\n")
        shutil.rmtree(folder / "parts", ignore_errors=True)
    return folder


# --- the plan -------------------------------------------------------------------------------------------------


def _plan(
    task: Task, seed: int, truth_episodes: int, located: dict[Role, LocatedPolicy], loaded: dict[Role, Policy]
) -> dict[str, Any]:
    """Everything that decides what will be collected; it becomes the log's metadata."""
    return {
        "task": task.name,
        "version": task.version,
        "environment": task.environment,
        "transitions": task.transitions,
        "mixture": list(task.mixture),
        "gamma": task.gamma,
        "value_steps": task.value_steps,
        "seed": seed,
        "truth_episodes": truth_episodes,
        "policies": {
            role: {
                "file": source.file.name if source.file else None,
                "file_sha256": source.file_sha256,
                "sha256": loaded[role].sha256,
                "name": loaded[role].name,
                "mode": source.mode,
                "kind": loaded[role].kind,
            }
            for role, source in located.items()
        },
        "versions": {name: _version(name) for name in ("gymnasium", "mujoco", "numpy")},
        "machine": platform.machine(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _agree_on_plan(path: Path, plan: dict[str, Any]) -> None:
    """Parts on disk are only continued by the same plan; parts of another would mix two datasets."""
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        different = [name for name in plan if earlier.get(name) != plan[name]]
        if different:
            name = different[0]
            raise UserError(
                f"{path.parent}: an interrupted collection with {name} {earlier.get(name)}, but now it is "
                f"{plan[name]}; continue it as it was, or start again with --overwrite"
            )
    write_text(path, json.dumps(plan, indent=1) + "\n")


# --- the log --------------------------------------------------------------------------------------------------


def _log_stream(task: Task, role: Role, folder: Path, policy: LocatedPolicy, seed: int) -> tuple[Stream, Recipe]:
    share = task.transitions // len(task.mixture)
    stream = Stream(f"log: {role}", folder / "parts" / role, share, "transitions")
    return stream, Recipe(task.environment, policy, seed, f"{task.folder}/{role}")


def _write_log(folder: Path, streams: dict[Role, Stream], plan: dict[str, Any]) -> None:
    written = {
        role: {
            "episodes": sum(n for _, n in s.kept()),
            "transitions": sum(int(p.lengths[:n].sum()) for p, n in s.kept()),
        }
        for role, s in streams.items()
    }
    with ColumnsWriter(folder, {**plan, "written_by": written, "ropeval": __version__}) as writer:
        for stream in streams.values():
            for part, episodes in stream.kept():
                rows = int(part.lengths[:episodes].sum())
                columns = {name: array[:rows] for name, array in read_npz(part.path).items() if name != "lengths"}
                if rows:
                    writer.append(Dataset.from_columns(columns, name=str(part.path)))


def _copy_policies(folder: Path, located: dict[Role, LocatedPolicy]) -> None:
    for source in located.values():
        if source.file is not None:
            write_atomically(folder / source.file.name, partial(_copy, source.file))


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


# --- the true values ------------------------------------------------------------------------------------------


def _truth_stream(
    task: Task, role: Role, data: Path, policy: LocatedPolicy, plan: dict[str, Any]
) -> tuple[Stream, Recipe]:
    """Shared by all tasks that ask the same question of the same policy: the folder is named after the question.

    A policy without a hash may have changed since, so its value stays with the task that asked.
    """
    about = plan["policies"][role]
    recipe = Recipe(task.environment, policy, plan["seed"], "truth", task.gamma, task.value_steps)
    if about["sha256"] is None and role != "random":
        folder = data / task.folder / "parts" / f"truth-{role}"
        return Stream(f"true value: {role}", folder, plan["truth_episodes"], "episodes"), recipe
    question = {name: plan[name] for name in ("environment", "gamma", "value_steps", "seed", "versions", "machine")}
    identity = [about["sha256"] or about["name"], about["mode"], plan["truth_episodes"]]
    text = json.dumps([question, identity], sort_keys=True)
    name = f"{task.environment.rpartition(':')[2].replace('/', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    stream = Stream(f"true value: {role}", data / "truth" / name, plan["truth_episodes"], "episodes")
    return stream, recipe


def _truth_file(stream: Stream) -> Path:
    return stream.folder.with_suffix(".json")


def _finish_truth(stream: Stream, gamma: float, policy: Policy) -> PolicyTruth:
    path = _truth_file(stream)
    if not path.exists():
        write_text(path, stream_truth(stream, gamma, policy).model_dump_json(indent=1) + "\n")
        shutil.rmtree(stream.folder, ignore_errors=True)
    return PolicyTruth.model_validate_json(path.read_text(encoding="utf-8"))


# --- without the command line ---------------------------------------------------------------------------------


class _Lines:
    """Progress in plain lines on standard error, one every few seconds."""

    def __init__(self, seconds: float = 5.0):
        self._seconds, self._last = seconds, time.monotonic()

    def __call__(self, stream: Stream) -> None:
        if time.monotonic() - self._last >= self._seconds:
            self._last = time.monotonic()
            print(f"  {stream.name}: {stream.done:,} of {stream.wanted:,} {stream.unit}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ropeval.bench.data.collect", description="Collect tasks' logs and true values."
    )
    parser.add_argument("tasks", nargs="+", help="names of tasks, or patterns such as 'd4rl/*'")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of collected tasks")
    parser.add_argument("--policies", type=Path, help="folder that holds the published policy files, at any depth")
    parser.add_argument("--processes", type=int, help="default: all cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--overwrite", action="store_true", help="collect again what is there already")
    given = parser.parse_args(arguments)
    try:
        for task in find_tasks(given.tasks):
            started = time.monotonic()
            folder = collect(
                task, given.data, given.policies, given.seed, given.processes,
                overwrite=given.overwrite, report=_Lines(),
            )  # fmt: skip
            print(f"{task.name}: {folder} ({time.monotonic() - started:.1f} s)", flush=True)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
