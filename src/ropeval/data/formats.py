"""From a path to a log. What is inside a file decides how it is read, not what it is called."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ropeval.data.column_names import ACTION_NAMES, Mapped
from ropeval.data.columns import is_columns
from ropeval.data.dataset import Dataset
from ropeval.data.guarded_read import read_apart
from ropeval.data.readers import FORMATS, LogFormat
from ropeval.data.readers.frame import Table, read_frame
from ropeval.data.readers.unread import WORKBOOKS, about_file, about_folder
from ropeval.errors import UserError, either
from ropeval.words import writable

LogLike = Dataset | str | Path | Table
HELD = 1 << 30  # bytes of a log that are held in memory rather than mapped, wherever it was read
START = 512  # bytes by which a file is recognised
READERS = {known: known.reader for known in FORMATS}  # imported here: nothing is while a file of strangers is read
READS = either([known.about for known in FORMATS])


class Source(NamedTuple):
    """A log that was recognised, but not read yet."""

    path: Path
    format: LogFormat

    def parts(self, mapped: Mapped) -> Iterator[Dataset]:
        """The log, whole episodes at a time. What is wrong with it is said in one line."""
        apart = read_apart(self.path, mapped) if self.format.foreign else None
        if apart is None:
            yield from self.parts_here(mapped)
        else:
            yield apart

    def parts_here(self, mapped: Mapped) -> Iterator[Dataset]:
        """The same without a process of its own."""
        for part in READERS[self.format].read(self.path, mapped):
            yield part.named(actions=mapped.get(ACTION_NAMES))


def recognise(path: str | Path) -> Source:
    """Tell the format of a log by its content."""
    text, path = str(path), Path(path)
    if not writable(text):
        raise UserError(f"{text!r}: this name is no text (not UTF-8); rename the log")
    if not path.exists():
        for known in FORMATS:
            find = getattr(READERS[known], "find", None)
            found = find(text) if find else None
            if found is not None:
                return Source(found, known)
        raise UserError(f"{text}: no such log; check the path")
    start = _start(path)
    if path.suffix.lower() in WORKBOOKS and path.is_file():
        raise UserError(f"{path}: this is an Excel workbook; save the sheet as CSV UTF-8")
    sure = (known for known in FORMATS if not known.guessed and READERS[known].recognises(path, start))
    named = (known for known in FORMATS if not known.guessed and path.is_file() and path.suffix in known.extensions)
    guessed = (known for known in FORMATS if known.guessed and READERS[known].recognises(path, start))
    for candidates in (sure, named, guessed):
        for known in candidates:
            _refuse_odd_entries(path)
            return Source(path, known)
    if path.is_dir():
        raise _no_log(path)
    raise UserError(f"{path}: {about_file(path, start) or f'not recognised as a log; ropeval reads {READS}'}")


def _no_log(folder: Path) -> UserError:
    """A folder above the log that is meant says where that is."""
    tasks = sorted(truth.parent for depth in ("", "*/") for truth in folder.glob(f"{depth}truth.json"))
    collected = [task / "log" for task in tasks if is_columns(task / "log")]
    if collected:
        return UserError(f"{folder}: a task that `ropeval bench collect` made, not a log; its log is {collected[-1]}")
    held = ", ".join(sorted(p.name for p in folder.iterdir())[:5]) or "nothing"
    return UserError(
        f"{folder}: {about_folder(folder) or f'this folder is no log (it holds {held}); ropeval reads {READS}'}"
    )


def _refuse_odd_entries(path: Path) -> None:
    """A pipe among the files of a log would be waited for, for ever."""
    for folder in (path, path / "data") if path.is_dir() else ():
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.exists() and not (entry.is_file() or entry.is_dir()):
                raise UserError(f"{entry}: no ordinary file; move it out of the folder of the log")


def _start(path: Path) -> bytes:
    """A file's first bytes; none of a folder."""
    if path.is_dir():
        return b""
    if not path.is_file():
        raise UserError(f"{path}: neither a file nor a folder; copy the log into a file first")
    try:
        with path.open("rb") as file:
            return file.read(START)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error


def load_dataset(log: LogLike, columns: Mapping[str, str | list[str]] | None = None) -> Dataset:
    """A log of any format that `ropeval.data.readers` lists, by its path; or of a table: a frame of pandas or polars, a
    list of dicts, a dict of columns.

    `columns` maps names where the log's own are not understood:

    >>> visits = [{"age": 41, "drug": "low", "cured": 0.0}, {"age": 67, "drug": "high", "cured": 1.0}]
    >>> names = {"observations": "age", "actions": "drug", "rewards": "cured", "terminations": "always"}
    >>> load_dataset(visits, names | {"action_names": ["none", "low", "high"]}).actions
    array([1, 2], dtype=int32)
    """
    if isinstance(log, Dataset):
        if columns:
            raise UserError(f"{log.name}: this log has been read already; give columns where it is read")
        return log
    if not isinstance(log, str | Path):
        mapped = as_mapped(columns)
        return read_frame(log, mapped).named(actions=mapped.get(ACTION_NAMES))
    try:
        source = recognise(log)
        parts = list(source.parts(as_mapped(columns)))
    except UserError as error:
        if _is_policy(log):
            raise UserError(f"{log}: this is a policy; the log comes first: ropeval evaluate LOG POLICY…") from error
        raise
    found = parts[0] if len(parts) == 1 else Dataset.concatenate(parts, name=str(log))
    return found.in_memory() if source.format.foreign and found.nbytes <= HELD else found


def _is_policy(path: str | Path) -> bool:
    """Of a file that is no log: the two are easily swapped."""
    from ropeval.policies.loaders import load_policy  # a fourth of what the process that reads a file takes to start

    try:
        return Path(path).is_file() and bool(load_policy(path))
    except (UserError, OSError):
        return False


def as_mapped(columns: Mapping[str, str | list[str]] | None) -> Mapped:
    return {name: [value] if isinstance(value, str) else list(value) for name, value in (columns or {}).items()}
