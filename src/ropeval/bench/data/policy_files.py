"""From a task's policy to a file on this machine, its hash checked; what is missing says from where it comes."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ropeval.bench.data.exploring import ExploringPolicy
from ropeval.bench.data.tasks import PolicySource, Task
from ropeval.errors import UserError
from ropeval.policies import Policy, load_policy
from ropeval.policies.policy import Mode


class PoliciesMissing(UserError):
    """A task cannot be collected here, but others can: its policies were not found."""


@dataclass(frozen=True)
class LocatedPolicy:
    """What a worker needs to load it, and what the records say about it."""

    spec: str  # for load_policy
    mode: Mode | None
    file_sha256: str | None = None  # of the file, where it is one
    epsilon: float = 0.0

    @property
    def file(self) -> Path | None:
        return Path(self.spec) if self.file_sha256 else None

    def load(self) -> Policy:
        policy = load_policy(self.spec, self.mode)
        return ExploringPolicy(policy, self.epsilon) if self.epsilon else policy


def locate(task: Task, name: str, folder: Path | None) -> LocatedPolicy:
    """Find the task's policy of that name; `folder` (and what is below it) holds the published ones."""
    source = task.policies[name]
    if source.files:
        path = _find_published(source, f"task {task.name}: {SYMBOLS.get(name, f'policy {name}')}", folder)
        digest = _check_hash(path, source.files[path.name])
    else:
        path = Path(source.spec)
        if path.suffix and path.suffix != ".py" and not path.is_file() and ":" not in source.spec:
            raise PoliciesMissing(f"task {task.name}: its policy {name}, {path}, is not there")
        digest = sha256_of(path) if path.is_file() else ""
        _check_environment(path, task)
    return LocatedPolicy(source.spec or str(path), source.mode, digest or None, source.epsilon)


def locate_all(task: Task, folder: Path | None) -> dict[str, LocatedPolicy]:
    """Every policy that the task needs. Of several to judge, published ones that are not in the folder are left out."""
    found, missing = {}, []
    needed = {*task.writers, *task.references}
    for name in dict.fromkeys([*task.valued, *task.writers]):
        try:
            found[name] = locate(task, name, folder)
        except PoliciesMissing as error:
            if name in needed or folder is None:
                raise
            missing.append(error)
    if len(missing) == len(task.judged):
        raise missing[0]
    return found


SYMBOLS = {"evaluated": "π_e", "behaviour": "π_b"}


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_published(source: PolicySource, who: str, folder: Path | None) -> Path:
    names = " or ".join(source.files)
    if folder is None:
        raise PoliciesMissing(
            f"{who} is {names}, which ropeval does not ship; get it from {source.origin} and say where it is "
            "with --policies DIR"
        )
    if not folder.is_dir():
        raise PoliciesMissing(f"--policies {folder}: no such folder; it should hold {names}, from {source.origin}")
    for name in source.files:
        found = sorted(folder.rglob(name))
        if found:
            return found[0]
    raise PoliciesMissing(
        f"{who} is {names}, and neither is in {folder} or below; get it from {source.origin} and put it there"
    )


def _check_hash(path: Path, expected: str) -> str:
    found = sha256_of(path)
    if found != expected:
        raise UserError(
            f"{path}: sha256 {found[:12]}… but the published file has {expected[:12]}…: another version, or damaged; "
            "fetch it again, or define a task of your own that uses it"
        )
    return found


def _check_environment(path: Path, task: Task) -> None:
    """Walker2d and HalfCheetah have the same sizes: only the description beside a policy tells them apart."""
    wanted = task.environment.rpartition(":")[2]
    try:
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        trained_in = str(about.get("environment") or about.get("env_id") or wanted)
    except (OSError, ValueError, AttributeError):
        return
    if body_of(trained_in) != body_of(wanted):
        raise UserError(
            f"task {task.name}: {path} is a policy of {trained_in}, says the description beside it, but the task "
            f"plays {wanted}; give a policy of {wanted}"
        )


def body_of(environment: str) -> str:
    """Hopper-v4 and Hopper-v5 are played by the same policies, and so is mine/Hopper-v0."""
    return environment.rpartition(":")[2].rpartition("/")[2].partition("-v")[0]
