"""From a path to a log. What is inside a file decides how it is read, not what it is called."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ropeval.data.columns import is_columns, open_columns
from ropeval.data.dataset import Dataset
from ropeval.data.guarded_read import try_out
from ropeval.data.names import Mapped
from ropeval.data.readers import archive, hdf5, minari, table
from ropeval.errors import UserError

READS = (
    "Minari datasets, HDF5 as D4RL or d3rlpy write it, .npz, Parquet, CSV, a folder of .npz files, or ropeval's own "
    "folder of columns"
)


LONGEST = 1000  # characters of a message: names and values in it may come from a hostile file
Reader = Callable[[Path, Mapped], Iterator[Dataset]]


class Source(NamedTuple):
    """A log that was recognised, but not read yet."""

    path: Path
    format: str  # in words
    read: Reader
    foreign: bool = False  # decoded by a library in another language, which a damaged file may kill

    def parts(self, mapped: Mapped) -> Iterator[Dataset]:
        """The log, whole episodes at a time. What is wrong with it is said in one line."""
        if self.foreign:
            try_out(self.path, mapped)
        yield from self.parts_here(mapped)

    def parts_here(self, mapped: Mapped) -> Iterator[Dataset]:
        """The same without a trial in a process of its own."""
        try:
            yield from self.read(self.path, mapped)
        except UserError as error:
            message = " ".join(str(error).split())
            raise UserError(message if len(message) <= LONGEST else message[:LONGEST] + " …") from error


def recognise(path: str | Path) -> Source:
    """Tell the format of a log by its content."""
    text, path = str(path), Path(path)
    if path.is_dir():
        return _recognise_folder(path)
    if path.exists():
        return _recognise_file(path)
    found = minari.find_id(text)
    if found is not None:
        return Source(found, "Minari dataset", minari.read, foreign=True)
    hint = ""
    if minari.ID.match(text):
        near = get_close_matches(text, minari.local_ids(), 3, 0.4)
        hint = f"; nor does Minari's cache ({minari.cache()}) hold such an id" + (
            f", but {', '.join(near)}" if near else ""
        )
    raise UserError(f"{text}: no such log{hint or '; check the path'}")


def load_dataset(path: str | Path, columns: Mapping[str, str | list[str]] | None = None) -> Dataset:
    """Read a log of any format: Minari (folder or id), HDF5 of D4RL or d3rlpy, npz, Parquet, CSV, ropeval's columns.

    `columns` maps names where the log's own are not understood: {"rewards": "r", "observations": ["s0", "s1"]}.
    """
    source = recognise(path)
    parts = list(source.parts(as_mapped(columns)))
    return parts[0] if len(parts) == 1 else Dataset.concatenate(parts, name=str(path))


def as_mapped(columns: Mapping[str, str | list[str]] | None) -> Mapped:
    return {name: [value] if isinstance(value, str) else list(value) for name, value in (columns or {}).items()}


def _recognise_folder(path: Path) -> Source:
    if is_columns(path):
        return Source(path, "ropeval's columns", _read_columns)
    if minari.folder_of(path) is not None:
        return Source(path, "Minari dataset", minari.read, foreign=True)
    if any(path.glob("*.npz")):
        return Source(path, "folder of .npz files", _read_folder)
    held = ", ".join(sorted(p.name for p in path.iterdir())[:5]) or "nothing"
    raise UserError(f"{path}: this folder is no log (it holds {held}); ropeval reads {READS}")


def _recognise_file(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            start = file.read(512)
            hdf5_inside = start.startswith(hdf5.MAGIC)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    if hdf5_inside:
        return Source(path, "HDF5", hdf5.read, foreign=True)
    if start.startswith(b"PK"):
        return Source(path, ".npz", archive.read)
    if start.startswith(table.MAGIC):
        return Source(path, "Parquet", partial(table.read, parquet=True), foreign=True)
    endings = {".npz": archive.read, ".hdf5": hdf5.read, ".h5": hdf5.read}
    if path.suffix in endings:  # damaged from its first byte on: let the reader say so
        return Source(path, path.suffix, endings[path.suffix], foreign=path.suffix != ".npz")
    if path.suffix == ".parquet":
        return Source(path, "Parquet", partial(table.read, parquet=True), foreign=True)
    if start and b"\0" not in start and any(mark in start.split(b"\n")[0] for mark in (b",", b";", b"\t")):
        return Source(path, "CSV", partial(table.read, parquet=False))
    raise UserError(f"{path}: not recognised as a log; ropeval reads {READS}")


def _read_columns(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    if mapped:
        raise UserError(f"{path}: ropeval's own form has its names; --columns is for tables, npz and flat HDF5")
    yield open_columns(path)


def _read_folder(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    for file in sorted(path.glob("*.npz")):
        yield from archive.read(file, mapped)
