"""A format of logs: what it is called, and which file of this folder reads it."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ropeval.data.column_names import Mapped
    from ropeval.data.dataset import Dataset


class LogReader(Protocol):
    """What a reader's file has. Where a log may be no path, `find(text) -> Path | None` says where it lies."""

    def recognises(self, path: "Path", start: bytes) -> bool:
        """By a file's first bytes; a folder has none."""

    def read(self, path: "Path", mapped: "Mapped") -> "Iterator[Dataset]":
        """Whole episodes, part by part."""


@dataclass(frozen=True)
class LogFormat:
    name: str  # in a list
    about: str  # for --help and in messages, in a list
    file: str  # of its reader
    extensions: tuple[str, ...] = ()  # a file so called that nothing recognises is damaged; the reader says how
    guessed: bool = False  # its files have no mark of their own: another format's ending comes first
    foreign: bool = False  # decoded by a library in another language, which a damaged file may kill

    @property
    def reader(self) -> LogReader:
        """Imported when a log is read: whoever asks for help should not wait for NumPy."""
        return cast(LogReader, import_module(f"ropeval.data.readers.{self.file}"))
