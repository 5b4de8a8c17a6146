"""CSV: a table as text: columns between commas, semicolons, tabs or bars, numbers with a point or a comma."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.cells import looks_like_a_number, refuse_either_way
from ropeval.data.readers.table import from_table, polars_reading
from ropeval.errors import UserError

SEPARATORS = ",;\t|"
LOOKED_AT = 10_000  # rows by which columns are told apart; to look at all takes several times as long as to read them
BEGINNING = 1 << 17  # bytes by which the layout is told
SAID = re.compile(r"\ufeff?\"?sep=(.)\"?\r?")  # Excel's own first line
COMMA, POINT = (re.compile(rf"[-+]?(\d+){mark}(\d+)([eE][-+]?\d+)?") for mark in (",", r"\."))
SLASHES = re.compile(r"\d{1,2}/\d{1,2}/\d{4}\b.*")


class Layout(NamedTuple):
    separator: str
    skipped: int = 0  # lines before the names
    decimal_comma: str | None = None  # a number with a comma for its point, where numbers are written so
    slashes: str | None = None  # a date with slashes

    @property
    def options(self) -> dict[str, Any]:
        return {
            "separator": self.separator,
            "skip_lines": self.skipped,
            "decimal_comma": self.decimal_comma is not None,
            "glob": False,
        }


def recognises(path: Path, start: bytes) -> bool:
    """Text with separators in its first line."""
    first = start.lstrip(b"\r\n").split(b"\n")[0]
    return b"\0" not in start and not first.startswith((b"{", b"[")) and any(m.encode() in first for m in SEPARATORS)


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """One part: a table must be sorted before its episodes can be cut."""
    import polars

    with polars_reading(path, "CSV"):
        layout = _layout(path)
        written = polars.read_csv(path, n_rows=0, encoding="utf8", **layout.options).columns
        if any("\ufffd" in name for name in written):  # polars says so of cells alone
            raise ValueError("invalid utf-8 sequence in a name")
    names = [name.strip() for name in written]
    for name in names:  # the second column of a name is called so by polars
        first, mark, _ = name.rpartition("_duplicated_")
        if (mark and first in names) or names.count(name) > 1:
            twice = first or name
            raise UserError(
                f"{path}: two columns are called {twice}; "
                + (
                    "the first line must hold the names of the columns"
                    if looks_like_a_number(twice)
                    else "rename one, so that it is clear which is meant"
                )
            )
    notices = []
    if layout.decimal_comma:
        notices.append(f"commas are decimal points here: {layout.decimal_comma} was read as a number")

    def select(wanted: list[str]) -> polars.DataFrame:
        def frame(looked_at: int | None) -> polars.DataFrame:
            """All columns: only then polars notices a row that has more cells than there are names."""
            others = {there: polars.String for there, name in zip(written, names, strict=True) if name not in wanted}
            found = polars.read_csv(
                path, infer_schema_length=looked_at, schema_overrides=others, try_parse_dates=True, **layout.options
            )
            return found.rename(dict(zip(written, names, strict=True))).select(wanted)

        with polars_reading(path, "CSV"):
            found = None
            with contextlib.suppress(polars.exceptions.PolarsError):  # a number among words, a fraction among integers
                found = frame(LOOKED_AT)
            if found is None or not all(_settled(series) for series in found):
                found = frame(None)
            blank = all(series.null_count() for series in found)  # perhaps some rows
            full = found.filter(~polars.all_horizontal(polars.all().is_null())) if blank else found
        if layout.slashes:
            for series in full:
                refuse_either_way(series, layout.slashes, str(path))
        if full.height < found.height:
            notices.append(f"{found.height - full.height} empty rows were left out")
        return full

    yield from_table(names, select, mapped, str(path), notices)


def _settled(series: Any) -> bool:
    """Whether more rows could not change what a column is taken for: numbers are numbers throughout, else they could
    not have been read, and words stay words. Dates may be words further down, and who begins empty may be anything."""
    if str(series.dtype) == "String":
        return series[:LOOKED_AT].null_count() < min(LOOKED_AT, len(series))
    return bool(series.dtype.is_numeric() or str(series.dtype) == "Boolean")


def _layout(path: Path) -> Layout:
    """As the beginning of a file shows it."""
    with path.open("rb") as file:
        lines = file.read(BEGINNING).decode("utf-8", errors="replace").split("\n")
    said = SAID.fullmatch(lines[0])
    first = next((place for place, line in enumerate(lines) if line.strip() and not (said and place == 0)), 0)
    separator = said[1] if said else max(SEPARATORS, key=lines[first].count)
    cells = [cell.strip(' "\r') for line in lines[first + 1 : LOOKED_AT] for cell in line.split(separator)]
    commas = [found for found in map(COMMA.fullmatch, cells) if found] if separator != "," else []
    # 1,250 alone may be a thousand and more; 0,250 and 1,25 are not
    plain = next((c[0] for c in commas if len(c[2]) != 3 or c[3] or c[1].lstrip("0") == ""), None)
    decimal_comma = None if any(map(POINT.fullmatch, cells)) else plain
    slashes = next((cell for cell in cells if SLASHES.fullmatch(cell)), None)
    return Layout(separator, 1 if said else 0, decimal_comma, slashes)
