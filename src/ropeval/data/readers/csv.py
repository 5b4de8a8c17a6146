"""CSV: a table as text, its columns separated by commas, semicolons or tabs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import from_table, polars_reading
from ropeval.errors import UserError

SEPARATORS = ",;\t"
LOOKED_AT = 10_000  # rows by which columns are told apart; to look at all takes several times as long as to read them


def recognises(path: Path, start: bytes) -> bool:
    """Text with separators in its first line."""
    return b"\0" not in start and any(mark.encode() in start.split(b"\n")[0] for mark in SEPARATORS)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """One part: a table must be sorted before its episodes can be cut."""
    import polars

    with polars_reading(path, "CSV"):
        separator = _separator(path)
        names = polars.read_csv(path, n_rows=0, encoding="utf8", separator=separator, glob=False).columns
    for name in names:  # the second column of a name is called so by polars
        first, mark, _ = name.rpartition("_duplicated_")
        if mark and first in names:
            raise UserError(f"{path}: two columns are called {first}; rename one, so that it is clear which is meant")

    def select(wanted: list[str]) -> polars.DataFrame:
        def frame(looked_at: int | None) -> polars.DataFrame:
            return polars.read_csv(
                path,
                columns=wanted,
                infer_schema_length=looked_at,
                separator=separator,
                try_parse_dates=True,
                glob=False,
            )

        with polars_reading(path, "CSV"):
            with contextlib.suppress(polars.exceptions.PolarsError):  # a number among words, a fraction among integers
                found = frame(LOOKED_AT)
                if all(_settled(series) for series in found):
                    return found
            return frame(None)

    yield from_table(names, select, mapped, str(path))


def _settled(series: Any) -> bool:
    """Whether more rows could not change what a column is taken for: numbers are numbers throughout, else they could
    not have been read, and words stay words. Dates may be words further down, and who begins empty may be anything."""
    if str(series.dtype) == "String":
        return series[:LOOKED_AT].null_count() < min(LOOKED_AT, len(series))
    return bool(series.dtype.is_numeric() or str(series.dtype) == "Boolean")


def _separator(path: Path) -> str:
    """The likeliest, by the first line."""
    with path.open("rb") as file:
        first = file.readline(1 << 20)
    return max(SEPARATORS, key=lambda mark: first.count(mark.encode()))
