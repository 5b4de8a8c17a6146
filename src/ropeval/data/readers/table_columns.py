"""One column of a table, or some that belong together, as an array: numbers, flags, lists, words. What cannot be one is
refused by its name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import ACTION_NAMES
from ropeval.data.readers.cells import not_a_number
from ropeval.errors import UserError

TRUE, FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0", "")
MAX_CATEGORIES = 1000
CACHED = 1 << 12  # rows of a matrix that are filled at a time


def vector(frame: Any, name: str, keys: list[str], source: str) -> NDArray[Any]:
    """[N, size], or [N] where one column of integers, or of true and false, holds discrete actions."""
    first = frame[keys[0]]
    if len(keys) == 1 and str(first.dtype).startswith(("List", "Array")):
        return _lists(first, name, source)
    if name == "actions" and len(keys) == 1 and (first.dtype.is_integer() or str(first.dtype) == "Boolean"):
        _refuse_empty(first, source)
        return np.asarray(first.to_numpy())
    return side_by_side([numbers(frame[key], name, source) for key in keys])


def side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """[N, size] as float32, some rows at a time, which stay in the processor's cache. Where that is too small for a
    number, as they are: whoever checks them can say what was found."""
    result = np.empty((len(columns[0]), len(columns)), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(result), CACHED):
            rows = slice(start, start + CACHED)
            for place, column in enumerate(columns):
                result[rows, place] = column[rows]
        as_they_are = all(column.dtype == np.float32 for column in columns)
        finite = as_they_are or np.isfinite(result.max() - result.min())
    return result if finite else np.stack(columns, axis=1)


def _lists(series: Any, name: str, source: str) -> NDArray[Any]:
    lengths = series.list.len() if str(series.dtype).startswith("List") else series.arr.to_list().list.len()
    if lengths.null_count() or lengths.n_unique() != 1:
        raise UserError(
            f"{source}: {series.name} ({name}) holds lists of different lengths; every step needs as "
            "many, and a row of its own (a row for every episode: write it with frame.explode)"
        )
    flat = series.explode()
    return numbers(flat, name, source).reshape(len(series), -1)


def holds_words(series: Any) -> bool:
    kind = series.dtype
    return not (kind.is_numeric() or kind.is_nested() or str(kind) in ("Boolean", "Null", "Binary"))


def is_text(series: Any) -> bool:
    return str(series.dtype).startswith(("String", "Categorical", "Enum"))


def _refuse_empty(series: Any, source: str) -> None:
    if series.null_count():
        raise UserError(
            f"{source}: {series.name} (actions) is empty in {series.null_count()} rows; drop those episodes"
        )


def categories(series: Any, source: str, order: list[str] | None) -> tuple[NDArray[np.int64], list[str]]:
    """The place of every word [N] in the given order, or else in the alphabet's; and the words."""
    _refuse_empty(series, source)
    if str(series.dtype).startswith("Duration"):
        raise UserError(f"{source}: {series.name} (actions) holds times ({series.dtype}); expected numbers or words")
    kinds, places = np.unique(series.cast(str).to_numpy().astype(str), return_inverse=True)
    if len(kinds) > MAX_CATEGORIES:
        raise UserError(f"{source}: {series.name} (actions) has {len(kinds)} different words; expected numbers")
    if order is None:
        return places.astype(np.int64), [str(kind) for kind in kinds]
    unknown = [str(kind) for kind in kinds if kind not in order]
    if unknown:
        raise UserError(
            f"{source}: {series.name} (actions) holds {unknown[0]!r}, which {ACTION_NAMES}={','.join(order)} leaves out"
        )
    return np.array([order.index(kind) for kind in kinds], np.int64)[places], order


def listed(words: list[str]) -> str:
    return ", ".join(f"{i} = {word}" for i, word in enumerate(words[:10])) + (" …" if len(words) > 10 else "")


def numbers(series: Any, name: str, source: str) -> NDArray[Any]:
    if str(series.dtype) == "Float32":
        return np.asarray(series.to_numpy())
    if series.dtype.is_numeric() or str(series.dtype) == "Boolean":
        if series.null_count():
            raise UserError(
                f"{source}: {series.name} ({name}) is empty in row {series.is_null().arg_max()} ({series.null_count()} "
                "such cells); fill them (a column of 0 and 1 can say where), or drop those episodes"
            )
        return np.asarray(series.cast(float).to_numpy())
    shown = series.drop_nulls().head(1).to_list()
    if not shown:
        raise UserError(f"{source}: {series.name} ({name}) is empty throughout")
    if is_text(series):
        raise UserError(f"{source}: {series.name} ({name}) must hold numbers, but {not_a_number(series)}")
    raise UserError(
        f"{source}: {series.name} ({name}) holds {series.dtype}, not numbers (for example {shown[0]!r}); leave it out, "
        "or write what it tells as numbers, a column for each"
    )


def flags(series: Any, name: str, source: str) -> NDArray[Any]:
    if str(series.dtype) == "Boolean" and not series.null_count():
        return np.asarray(series.to_numpy())
    if str(series.dtype) != "String" and series.null_count():
        row = series.is_null().arg_max()
        raise UserError(f"{source}: {series.name} ({name}) is empty in row {row}; write 0 where it is not so")
    if str(series.dtype) != "String":
        return numbers(series, name, source)
    words = series.str.to_lowercase().str.strip_chars()
    odd = words.is_null() | ~words.is_in([*TRUE, *FALSE])
    if odd.any():
        row = int(odd.arg_max() or 0)
        shown = "empty" if series[row] is None else repr(series[row])
        raise UserError(
            f"{source}: {series.name} ({name}) is {shown} in row {row}; flags must be 0 or 1, true or false, yes or no"
        )
    return np.asarray(words.is_in(list(TRUE)).to_numpy())
