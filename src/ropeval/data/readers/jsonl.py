"""JSON: one object per step, on a line of its own (JSON lines), or all of them in one list."""

from collections.abc import Iterator
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import from_table, polars_reading


def recognises(path: Path, start: bytes) -> bool:
    """Text that begins with an object, or a list of them."""
    return b"\0" not in start and start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def read(path: Path, mapped: Mapped) -> Iterator[Dataset]:
    """One part, as CSV."""
    import polars

    with polars_reading(path, "JSON"):
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip()
        reader = polars.read_json if content.startswith(b"[") else polars.read_ndjson
        frame = reader(content, infer_schema_length=None)
    yield from_table(frame.columns, frame.select, mapped, str(path))
