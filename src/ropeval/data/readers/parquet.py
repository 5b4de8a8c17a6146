"""Parquet: a table, whose schema is read first, so that only the columns that are wanted are read at all. A folder of
files is one table, as Spark and Arrow write it: in the order of their names, with `name=value` folders as columns."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import polars_reading, table_in_parts
from ropeval.errors import UserError

MAGIC = b"PAR1"
MAX_FILES = 10_000


def recognises(path: Path, start: bytes) -> bool:
    return start.startswith(MAGIC) or (path.is_dir() and bool(_files(path)))


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    import polars

    files = _files(path) if path.is_dir() else [path]
    if len(files) > MAX_FILES:
        raise UserError(f"{path}: more than {MAX_FILES:,} files; write them as one")
    with polars_reading(path, "Parquet"):
        table = polars.scan_parquet(files, glob=False, hive_partitioning=path.is_dir())
        names, steps = table.collect_schema().names(), table.select(polars.len()).collect().item()

    def select(wanted: list[str], rows: slice) -> polars.DataFrame:
        with polars_reading(path, "Parquet"):
            return table.select(wanted).slice(rows.start, rows.stop - rows.start).collect()

    yield from table_in_parts(names, select, steps, mapped, str(path))


def _files(folder: Path) -> list[Path]:
    """Of a folder that holds Parquet and nothing else, in any depth; `_SUCCESS` and hidden files do not count."""
    found: list[Path] = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(("_", ".")):
            if path.suffix != ".parquet":
                return []
            found.append(path)
        if len(found) > MAX_FILES:
            break
    return sorted(found)
