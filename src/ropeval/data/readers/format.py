"""What a reader of logs brings along: what it is called, how its logs are recognised, and how they are read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset


@dataclass(frozen=True)
class LogFormat:
    name: str  # in a list
    about: str  # for --help and in messages, in a list
    recognises: Callable[[Path, bytes], bool]  # by a file's first bytes (none for a folder)
    read: Callable[[Path, Mapped], Iterator[Dataset]]  # whole episodes, part by part
    extensions: tuple[str, ...] = ()  # a file so called that nothing recognises is damaged; the reader says how
    guessed: bool = False  # its files have no mark of their own: another format's ending comes first
    foreign: bool = False  # decoded by a library in another language, which a damaged file may kill
    find: Callable[[str], Path | None] | None = None  # where a log lies that is no path
