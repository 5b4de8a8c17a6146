"""ropeval's own folder of columns, which `columns.py` maps into memory."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.columns import is_columns, open_columns
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError


def recognises(path: Path, start: bytes) -> bool:
    return is_columns(path)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    if mapped:
        raise UserError(f"{path}: ropeval's own form has its names; --columns is for tables, npz and flat HDF5")
    yield open_columns(path)
