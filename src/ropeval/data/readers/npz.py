"""NumPy's `.npz`: arrays under Minari's names, or others' (`terminals`, `timeouts`, …)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped, check_found, find_names
from ropeval.data.dataset import Dataset
from ropeval.data.readers.flat import said_columns
from ropeval.errors import UserError
from ropeval.files import npz_names, read_npz


def recognises(path: Path, start: bytes) -> bool:
    return any(path.glob("*.npz")) if path.is_dir() else start.startswith(b"PK")


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """A file, or a folder of files in the order of their names, each of whole episodes."""
    for file in sorted(path.glob("*.npz")) if path.is_dir() else [path]:
        yield _read_file(file, mapped)


def _read_file(path: Path, mapped: Mapped) -> Dataset:
    names = npz_names(path)
    available = [name.removesuffix(".npy") for name in names]
    twice = [name for name, count in Counter(available).items() if count > 1]
    if twice:
        raise UserError(f"{path}: {twice[0]} is in the archive twice; which one is meant?")
    if not any(name.endswith(".npy") for name in names):
        held = ", ".join(names[:5]) or "nothing"
        raise UserError(f"{path}: this zip holds no arrays, but {held}; unpack it, and give what is inside")
    found = find_names(available, mapped, str(path))
    found.pop("time", None)  # rows are in order here
    for name, keys in found.items():
        if len(keys) > 1:
            raise UserError(f"{path}: {name} must be one array, but {', '.join(keys)} all answer to it")
    check_found(found, mapped, available, str(path))
    arrays = read_npz(path, tuple(keys[0] for keys in found.values()))
    columns = {name: arrays[keys[0]] for name, keys in found.items()}
    steps = len(columns["rewards"]) if columns["rewards"].ndim else 0
    return Dataset.from_columns(columns | said_columns(mapped, steps), name=str(path))
