"""A format of policies: what it is called, and which file of this folder reads it."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ropeval.policies.policy import Mode, Policy
    from ropeval.policies.readers.policy_file import PolicyFile


class FileReader(Protocol):
    """What the file of a reader of files has."""

    def recognises(self, file: "PolicyFile") -> bool: ...

    def read(self, file: "PolicyFile") -> "Policy": ...


class WordReader(Protocol):
    """What the file of a reader of words has."""

    def recognises(self, text: str) -> bool: ...

    def read(self, text: str, mode: "Mode | None") -> "Policy": ...


@dataclass(frozen=True)
class PolicyFormat:
    """A format of files."""

    name: str  # in a list
    about: str  # for --help
    file: str  # of its reader, imported when a policy is read: whoever asks for help should not wait for NumPy
    extensions: tuple[str, ...]  # usual ones

    @property
    def reader(self) -> FileReader:
        return cast(FileReader, import_module(f"ropeval.policies.readers.{self.file}"))


@dataclass(frozen=True)
class PolicyWord:
    """A policy that is no file, but a word on the command line."""

    name: str
    about: str
    file: str
    reserved: bool = False  # it means this even where there is a file of that name

    @property
    def reader(self) -> WordReader:
        return cast(WordReader, import_module(f"ropeval.policies.readers.{self.file}"))
