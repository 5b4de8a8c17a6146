"""Text in the cells of a table: words, or numbers and dates that something keeps from being read as such.

One `NA` makes text of a whole column of numbers. To take its numbers for names, one column of 0 and 1 for each, would
be a silent mistake; so what is meant as numbers is refused with the cell that is none.
"""

import re
from typing import Any

from ropeval.errors import UserError

DATE = r"^\d{4}[-/]\d{2}[-/]\d{2}([ T]\d{2}:\d{2}[^aApP]*)?$"  # sorted as text, they are in order
AROUND_NUMBERS = r"[,%$€£\s]"  # 1,250.5  37 %  $5
GROUPS = r","


def refuse_numbers(series: Any, name: str, source: str) -> None:
    """Refuse text whose cells are lists, or numbers for the greater part."""
    words = series.drop_nulls().cast(str).str.strip_chars()
    first = words[0] if len(words) else ""
    if first.startswith(("[", "(", "{")):
        raise UserError(
            f"{source}: {series.name} ({name}) holds lists in words ({first[:40]!r}); give every number a column of "
            f"its own ({name}_0, {name}_1, …), or write Parquet with a column of lists"
        )
    around = AROUND_NUMBERS if name == "observations" else GROUPS  # `10 %` may be the name of an action
    meant = _are_numbers(words.str.replace_all(around, ""))
    if 2 * meant.sum() > len(words) and not _are_numbers(words).all():
        raise UserError(f"{source}: {series.name} ({name}) holds numbers, but {not_a_number(series)}")


def not_a_number(series: Any) -> str:
    """The first such cell of a column of text, how many there are, and what to do."""
    odd = ~_are_numbers(series.cast(str).str.strip_chars())
    row = int(odd.arg_max() or 0)
    shown = "nothing" if series[row] is None else repr(str(series[row])[:40])
    return (
        f"{shown} in row {row} ({odd.sum()} such cells); write numbers plainly (1250.5), fill what is missing (a "
        "column of 0 and 1 can say where), or drop those episodes"
    )


def _are_numbers(words: Any) -> Any:
    return words.cast(float, strict=False).is_finite().fill_null(value=False)


def refuse_unordered(series: Any, source: str) -> None:
    """Refuse a time in words, unless the alphabet has them in order: `visit 10` comes before `visit 9` there."""
    odd = series.filter(~series.cast(str).str.contains(DATE))
    if len(odd):
        raise UserError(
            f"{source}: {series.name} (time) holds {str(odd[0])[:40]!r}, and words have no order in time; give "
            "numbers, or dates such as 2024-01-31 or 2024-01-31 20:05"
        )


def refuse_either_way(series: Any, example: str, source: str) -> None:
    """Refuse dates such as 01/02/2024 where none tells whether the day or the month comes first."""
    if str(series.dtype).startswith("Date") and (series.dt.day().max() or 0) <= 12:
        raise UserError(
            f"{source}: {series.name} holds dates such as {example}, and nothing tells whether the day or the month "
            "comes first; write them as 2024-01-31"
        )


def looks_like_a_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", text.strip()) is not None
