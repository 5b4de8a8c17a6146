"""Parquet: a table, whose schema is read first, so that only the columns that are wanted are read at all."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import from_table, polars_reading

MAGIC = b"PAR1"


def recognises(path: Path, start: bytes) -> bool:
    return start.startswith(MAGIC)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """One part: a table must be sorted before its episodes can be cut."""
    import polars

    with polars_reading(path, "Parquet"), path.open("rb") as file:  # a path would be taken for a pattern
        names = list(polars.read_parquet_schema(file))

    def select(wanted: list[str]) -> polars.DataFrame:
        with polars_reading(path, "Parquet"):
            return polars.read_parquet(path, columns=wanted, glob=False)

    yield from_table(names, select, mapped, str(path))
