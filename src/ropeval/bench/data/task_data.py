"""A collected task, read back: its log memory-mapped, the policies to judge, and the answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.tasks import Split, Task, find_task
from ropeval.bench.data.truth import PolicyTruth, Truth
from ropeval.data.columns import is_columns, open_columns, read_metadata
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.policies import Policy

DEFAULT_DATA = Path("ropeval-data")
EVALUATED = "evaluated"  # the name of the judged policy where a task has one
SAME = ("environment", "transitions", "episodes", "propensities", "gamma", "value_steps")  # as when it was collected


@dataclass(frozen=True)
class Judged:
    """A policy to judge, and what it is worth."""

    policy: Policy
    truth: PolicyTruth
    split: Split = "dev"  # test: nothing may be tuned on it
    imprecise: bool = False  # its true value has too large a standard error to judge estimates by


@dataclass(frozen=True)
class TaskData:
    """A collected task: what a method may see, and the answers."""

    task: Task
    dataset: Dataset
    judged: dict[str, Judged]  # by name; the same log serves them all
    random: PolicyTruth | None  # of the random policy, where it was played
    metadata: dict[str, Any]


def is_collected(task: Task, data: Path) -> bool:
    folder = data / task.folder
    return is_columns(folder / "log") and (folder / "truth.json").is_file()


def load_task(name: str | Task, data: Path = DEFAULT_DATA) -> TaskData:
    """A collected task; its log is memory-mapped."""
    task = name if isinstance(name, Task) else find_task(name)
    folder = data / task.folder
    if not is_collected(task, data):
        raise UserError(
            f"task {task.name}: not collected in {data}; run: ropeval bench collect {task.name} --data {data}"
        )
    metadata = read_metadata(folder / "log")
    for field in SAME:
        earlier = metadata.get(field, Task.model_fields[field].default)
        if earlier != getattr(task, field):
            raise UserError(
                f"{folder}: collected with {field} {earlier}, but the task says {getattr(task, field)}; "
                "give the task a new version, or collect it again with --overwrite"
            )
    truth = read_truth(folder)
    judged = {
        name: Judged(
            _policy(task, name, folder, metadata), truth.policies[name], task.split_of(name), name in truth.imprecise
        )
        for name in task.judged
        if name in truth.policies  # a published policy may not have been at hand
    }
    return TaskData(task, open_columns(folder / "log"), judged, truth.policies.get("random"), metadata)


def read_truth(folder: Path) -> Truth:
    path = folder / "truth.json"
    try:
        return Truth.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: cannot be read ({reason}); delete it and collect the task again") from error


def _policy(task: Task, name: str, folder: Path, metadata: dict[str, Any]) -> Policy:
    about, source = metadata["policies"][name], task.policies[name]
    spec = str(folder / "policies" / about["file"]) if about["file"] else source.spec
    policy = LocatedPolicy(spec, source.mode, epsilon=source.epsilon).load()
    if policy.sha256 != about["sha256"]:
        raise UserError(f"{spec}: not the policy that the task was collected with; collect it again with --overwrite")
    return policy
