"""NumPy's `.npz`: arrays under Minari's names, or others' (`terminals`, `timeouts`, …)."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.dataset import Dataset
from ropeval.data.names import Mapped, check_found, find_names
from ropeval.data.readers.flat import never_columns
from ropeval.errors import UserError
from ropeval.files import npz_names, read_npz


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    available = npz_names(path)
    found = find_names(available, mapped, str(path))
    found.pop("time", None)  # rows are in order here
    for name, keys in found.items():
        if len(keys) > 1:
            raise UserError(f"{path}: {name} must be one array, but {', '.join(keys)} all answer to it")
    check_found(found, mapped, available, str(path))
    arrays = read_npz(path, tuple(keys[0] for keys in found.values()))
    columns = {name: arrays[keys[0]] for name, keys in found.items()}
    steps = len(columns["rewards"]) if columns["rewards"].ndim else 0
    yield Dataset.from_columns(columns | never_columns(mapped, steps), name=str(path))
