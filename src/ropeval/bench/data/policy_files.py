"""From a task's policy to a file on this machine, its hash checked; what is missing says from where it comes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ropeval.bench.data.tasks import PolicySource, Role, Task
from ropeval.errors import UserError
from ropeval.policies import Policy, load_policy
from ropeval.policies.policy import Mode


@dataclass(frozen=True)
class LocatedPolicy:
    """What a worker needs to load it, and what the records say about it."""

    spec: str  # for load_policy
    mode: Mode | None
    file_sha256: str | None = None  # of the file, where it is one

    @property
    def file(self) -> Path | None:
        return Path(self.spec) if self.file_sha256 else None

    def load(self) -> Policy:
        return load_policy(self.spec, self.mode)


def locate(task: Task, role: Role, folder: Path | None) -> LocatedPolicy:
    """Find the policy that plays `role`; `folder` (and what is below it) holds the published ones."""
    source = task.policy(role)
    if source.files:
        path = _find_published(source, f"task {task.name}: π_{role[0]}", folder)
        return LocatedPolicy(str(path), source.mode, _check_hash(path, source.files[path.name]))
    path = Path(source.spec)
    if path.suffix and path.suffix != ".py" and not path.is_file() and ":" not in source.spec:
        raise UserError(f"task {task.name}: its {role} policy {path} is not there")
    return LocatedPolicy(source.spec, source.mode, sha256_of(path) if path.is_file() else None)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_published(source: PolicySource, who: str, folder: Path | None) -> Path:
    names = " or ".join(source.files)
    if folder is None:
        raise UserError(
            f"{who} is {names}, which ropeval does not ship; get it from {source.origin} and say where it is "
            "with --policies DIR"
        )
    if not folder.is_dir():
        raise UserError(f"--policies {folder}: no such folder; it should hold {names}, from {source.origin}")
    for name in source.files:
        found = sorted(folder.rglob(name))
        if found:
            return found[0]
    raise UserError(
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
