"""What a reader of policies is given: a file, and what its user said about it."""

from dataclasses import dataclass
from pathlib import Path

from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive, is_zip, read_bytes
from ropeval.policies.policy import Mode


@dataclass(frozen=True, eq=False)
class PolicyFile:
    """A file that may be a policy, and what the user said about it."""

    path: Path
    content: bytes
    archive: Archive | None  # where it is a zip
    mode: Mode | None = None  # None: as the file says, or stochastic
    normalised: bool | None = False  # whether statistics come with it; None: the user says that it needs none

    @classmethod
    def open(cls, path: Path, mode: Mode | None, normalised: bool | None) -> "PolicyFile":
        where = f"policy {path}"
        content = read_bytes(path, where)
        if not content:
            raise UserError(f"{where}: the file is empty; copy it again")
        return cls(path, content, Archive(content, where) if is_zip(content) else None, mode, normalised)

    @property
    def where(self) -> str:
        """How messages begin."""
        return f"policy {self.path}"

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        return self.path.stem if self.mode is None else f"{self.path.stem}@{self.mode}"

    def refuse_modes_but(self, allowed: tuple[Mode, ...], why: str) -> None:
        refuse_modes_but(allowed, self.mode, why, self.where)


def refuse_modes_but(allowed: tuple[Mode, ...], mode: Mode | None, why: str, where: str) -> None:
    """Refuse a way to act that the policy does not know. `why` completes a sentence: "it is deterministic"."""
    if mode is not None and mode not in allowed:
        raise UserError(f"{where}: it {why}, so that @{mode} means nothing here; leave it out")
