"""Parquet: a table, whose schema is read first, so that only the columns that are wanted are read at all."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import polars_reading, table_in_parts

MAGIC = b"PAR1"


def recognises(path: Path, start: bytes) -> bool:
    return start.startswith(MAGIC)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    import polars

    with polars_reading(path, "Parquet"):
        table = polars.scan_parquet(path, glob=False)
        names, steps = table.collect_schema().names(), table.select(polars.len()).collect().item()

    def select(wanted: list[str], rows: slice) -> polars.DataFrame:
        with polars_reading(path, "Parquet"):
            return table.select(wanted).slice(rows.start, rows.stop - rows.start).collect()

    yield from table_in_parts(names, select, steps, mapped, str(path))
