"""Make a task's log and true values, with parallel processes, interruptible.

DATA/<task>/v<version>/log/          the log, memory-mapped columns with their metadata
DATA/<task>/v<version>/policies/     the policy files that were used
DATA/<task>/v<version>/truth.json    true values of the policies to judge and of the random policy
DATA/truth/                          true values by environment and policy, shared by tasks
"""

import contextlib
import glob
import hashlib
import json
import platform
import shutil
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ropeval.bench.data.episodes import Player, make_environment
from ropeval.bench.data.policy_files import LocatedPolicy, locate_all
from ropeval.bench.data.rollouts import stream_truth
from ropeval.bench.data.streams import Stream
from ropeval.bench.data.task_data import DEFAULT_DATA, is_collected
from ropeval.bench.data.tasks import Task
from ropeval.bench.data.truth import PolicyTruth, answered_truth, make_truth
from ropeval.bench.data.workers import Pool, Recipe, Report, play_streams, worker_pool
from ropeval.data.columns import ColumnsWriter
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.files import locked, remove_leftovers, remove_scratch, write_atomically, write_text
from ropeval.policies import Policy
from ropeval.version import __version__

LOCK = ".lock"


def collect(
    task: Task,
    data: Path = DEFAULT_DATA,
    policies: Path | None = None,
    seed: int = 0,
    processes: int | None = None,
    truth_episodes: int | None = None,
    overwrite: bool = False,
    report: Report | None = None,
    pool: Pool | None = None,
) -> Path:
    """Collect a task's log and true values, or what is missing of them; returns its folder.

    `pool` (see `worker_pool`) serves many tasks, which spares each of them the start of its processes.
    """
    folder = data / task.folder
    if is_collected(task, data) and not overwrite:
        _remove_parts(folder)
        return folder
    located = locate_all(task, policies)
    loaded = {name: source.load() for name, source in located.items()}
    make_environment(task.environment)[0].close()  # refuses what is not installed, before anything is written
    valued = [name for name in task.valued if name in located]
    plan = _plan(task, seed, truth_episodes or task.truth_episodes, located, loaded)
    with locked(folder / LOCK) as alone, contextlib.nullcontext(pool) if pool else worker_pool(processes) as players:
        if not alone:
            raise UserError(f"{folder}: another process is collecting this task; wait for it")
        if overwrite:
            for place in ("log", "parts", "policies"):
                shutil.rmtree(folder / place, ignore_errors=True)
            (folder / "truth.json").unlink(missing_ok=True)
            for name in valued:
                _truth_file(_truth_stream(task, name, data, located[name], plan)[0]).unlink(missing_ok=True)
        _agree_on_plan(folder / "parts" / "plan.json", plan)
        log = {name: _log_stream(task, name, folder, located[name], seed) for name in task.writers}
        values = {name: _truth_stream(task, name, data, located[name], plan) for name in valued}
        files = {name: _truth_file(stream) for name, (stream, _) in values.items()}
        with contextlib.ExitStack() as held:
            for name, (stream, recipe) in values.items():
                if not held.enter_context(_alone_with(files[name])):
                    values[name] = stream.elsewhere(folder / "parts" / f"truth-{name}"), recipe
            played = values if task.truth == "played" else ()
            missing = [values[name] for name in played if not files[name].exists()]
            play_streams([*log.values(), *missing], players, report)
            _write_log(folder / "log", {name: stream for name, (stream, _) in log.items()}, plan)
            truths = {name: _finish_truth(task, values[name][0], files[name], loaded[name]) for name in values}
        _copy_policies(folder / "policies", located)
        remove_leftovers(folder, ["truth.json"])
        truth = make_truth(task.gamma, truths, task.judged)
        write_text(folder / "truth.json", truth.model_dump_json(indent=1) + "\n")
        shutil.rmtree(folder / "parts", ignore_errors=True)
    return folder


def _remove_parts(folder: Path) -> None:
    """Of a collection that was killed when all was there but this."""
    if (folder / "parts").exists() or (folder / LOCK).exists():
        with contextlib.suppress(UserError), locked(folder / LOCK) as alone:  # it may be a folder to read only
            if alone:
                shutil.rmtree(folder / "parts", ignore_errors=True)


# --- the plan -------------------------------------------------------------------------------------------------


def _plan(
    task: Task, seed: int, truth_episodes: int, located: dict[str, LocatedPolicy], loaded: dict[str, Policy]
) -> dict[str, Any]:
    """Everything that decides what will be collected; it becomes the log's metadata."""
    return {
        "task": task.name,
        "version": task.version,
        "environment": task.environment,
        "transitions": task.transitions,
        "episodes": task.episodes,
        "writers": task.writers,
        "propensities": task.propensities,
        "gamma": task.gamma,
        "value_steps": task.value_steps,
        "seed": seed,
        "truth_episodes": truth_episodes,
        "policies": {
            name: {
                "file": source.file.name if source.file else None,
                "file_sha256": source.file_sha256,
                "sha256": loaded[name].sha256,
                "name": loaded[name].name,
                "mode": source.mode,
                "epsilon": source.epsilon,
                "kind": loaded[name].kind,
            }
            for name, source in located.items()
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


def _log_stream(task: Task, name: str, folder: Path, policy: LocatedPolicy, seed: int) -> tuple[Stream, Recipe]:
    size, unit = task.size
    share = size * task.writers[name] // sum(task.writers.values())
    stream = Stream(f"log: {name}", folder / "parts" / name, share, unit)
    return stream, Recipe(task.environment, policy, seed, f"{task.folder}/{name}")


def _write_log(folder: Path, streams: dict[str, Stream], plan: dict[str, Any]) -> None:
    written = {
        name: {
            "episodes": sum(n for _, n in s.kept()),
            "transitions": sum(int(p.lengths[:n].sum()) for p, n in s.kept()),
        }
        for name, s in streams.items()
    }
    remove_scratch(folder)  # of one that was killed: the lock is ours now
    with ColumnsWriter(folder, {**plan, "written_by": written, "ropeval": __version__}) as writer:
        for stream in streams.values():
            for path, columns in stream.kept_columns():
                if not plan["propensities"]:
                    columns.pop("log_probs", None)
                if len(columns["rewards"]):
                    writer.append(Dataset.from_columns(columns, name=str(path)))


def _copy_policies(folder: Path, located: dict[str, LocatedPolicy]) -> None:
    for source in located.values():
        if source.file is not None:
            remove_leftovers(folder, [glob.escape(source.file.name)])
            write_atomically(folder / source.file.name, partial(shutil.copyfile, source.file))


# --- the true values ------------------------------------------------------------------------------------------


def _truth_stream(
    task: Task, name: str, data: Path, policy: LocatedPolicy, plan: dict[str, Any]
) -> tuple[Stream, Recipe]:
    """Shared by all tasks that ask the same question of the same policy: the folder is named after the question.

    A policy without a hash may have changed since, so its value stays with the task that asked.
    """
    about = plan["policies"][name]
    recipe = Recipe(task.environment, policy, plan["seed"], "truth", task.gamma, task.value_steps)
    if about["sha256"] is None and name != "random":
        folder = data / task.folder / "parts" / f"truth-{name}"
        return Stream(f"true value: {name}", folder, plan["truth_episodes"], "episodes"), recipe
    question = {field: plan[field] for field in ("environment", "gamma", "value_steps", "seed", "versions", "machine")}
    if task.truth == "known":
        question["truth"] = "known"
    identity = [about["sha256"] or about["name"], about["mode"], plan["truth_episodes"]]
    text = json.dumps([question, identity], sort_keys=True)
    place = f"{task.environment.rpartition(':')[2].replace('/', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Stream(f"true value: {name}", data / "truth" / place, plan["truth_episodes"], "episodes"), recipe


def _truth_file(stream: Stream) -> Path:
    return stream.folder.with_suffix(".json")


@contextlib.contextmanager
def _alone_with(file: Path) -> Iterator[bool]:
    """Whether a shared true value is ours to find. If not, another task's process plays the same episodes right now;
    then we play them, too, elsewhere: whoever is first writes the file, and both would write the same."""
    with locked(file.with_suffix(".lock")) as alone:
        if alone:
            remove_leftovers(file.parent, [file.name])
        yield alone


def _finish_truth(task: Task, stream: Stream, path: Path, policy: Policy) -> PolicyTruth:
    if not path.exists():
        truth = _answer(task, policy) if task.truth == "known" else stream_truth(stream, task.gamma, policy)
        write_text(path, truth.model_dump_json(indent=1) + "\n")
    shutil.rmtree(stream.folder, ignore_errors=True)
    return PolicyTruth.model_validate_json(path.read_text(encoding="utf-8"))


def _answer(task: Task, policy: Policy) -> PolicyTruth:
    """The environment's own, where it has one."""
    player = Player(task.environment, policy)
    known = player.env.unwrapped
    if not hasattr(known, "answer"):
        raise UserError(f"task {task.name}: its truth is known, but {task.environment} has no method `answer`")
    return answered_truth(
        known.answer(player.policy, task.gamma, player.time_limit), task.gamma, policy.name, policy.sha256
    )
