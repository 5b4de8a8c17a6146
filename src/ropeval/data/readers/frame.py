"""Tables that are in memory already: frames of pandas or polars, lists of rows, columns in a dict."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ropeval.data.column_names import Mapped
from ropeval.data.dataset import Dataset
from ropeval.data.readers.table import from_table
from ropeval.errors import UserError, first_line

SOURCE = "log"  # what messages call it


class Frame(Protocol):
    """What pandas and polars have in common."""

    @property
    def columns(self) -> Any: ...


Table = Frame | Sequence[Mapping[str, Any]] | Mapping[str, Any]


def read_frame(table: Table, mapped: Mapped) -> Dataset:
    """The log in a table, by the rules for Parquet."""
    try:
        frame = _as_polars(table)
    except UserError:
        raise
    except Exception as error:  # polars and pandas have families of their own
        raise UserError(
            f"{SOURCE}: this {type(table).__name__} cannot be taken as a table ({first_line(error)})"
        ) from error
    return from_table(frame.columns, frame.select, mapped, SOURCE)


def _as_polars(table: Any) -> Any:
    import polars

    if isinstance(table, polars.LazyFrame):
        return table.collect()
    if isinstance(table, polars.DataFrame):
        return table
    if isinstance(table, Mapping):
        return polars.DataFrame(dict(table))
    if hasattr(table, "columns") and hasattr(table, "notna"):
        return _from_pandas(table)
    if isinstance(table, Sequence) and table and all(isinstance(row, Mapping) for row in table):
        return polars.DataFrame(list(table), infer_schema_length=None)
    raise UserError(
        f"{SOURCE}: found {type(table).__name__}; give a path, a frame of pandas or polars, a list of dicts (one per "
        "step), or a dict of columns"
    )


def _from_pandas(frame: Any) -> Any:
    """Column by column; polars' own way would need pyarrow."""
    import polars

    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{SOURCE}: two columns are called {twice}; rename one, so that it is clear which is meant")
    columns = []
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        values = series.to_numpy()
        if values.dtype.kind == "O":  # words, lists, or a type of pandas' own: what is missing is None
            values = series.astype(object).where(series.notna(), None).tolist()
        columns.append(polars.Series(name, values))
    return polars.DataFrame(columns)
