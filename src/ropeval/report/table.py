"""Tables as data: words and numbers in rows and columns. `typeset` sets them for terminal, page and documents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from ropeval.report.labels import number

Value = str | int | float | None
Tone = Literal["", "dim", "severe", "warning"]


class Cell(NamedTuple):
    """A value, and what it looks like where there are looks."""

    value: Value
    bold: bool = False
    share: float | None = None  # tinted by so much, 0 … 1: for tables that are read as pictures
    tone: Tone = ""
    below: str = ""  # said smaller, in a line of its own

    @property
    def known(self) -> bool:
        return self.value is not None and not (isinstance(self.value, float) and not math.isfinite(self.value))

    @property
    def text(self) -> str:
        """Numbers in four digits, and a dash for what is not known."""
        if not self.known:
            return "–"
        if isinstance(self.value, int):
            return f"{self.value:,}"
        return number(self.value) if isinstance(self.value, float) else str(self.value)


Row = Sequence[Cell | Value]


@dataclass(frozen=True)
class Table:
    """`source` says where the numbers come from and is part of every copy in a document."""

    columns: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    slug: str = ""  # its name as a file
    left: int | None = None  # so many columns hold words and are set to the left; None: all but those of numbers
    source: str = ""
    rules: Sequence[int] = ()  # a line above each of these rows

    @classmethod
    def grouped(cls, columns: Sequence[str], groups: Sequence[Sequence[Row]], **more: Any) -> "Table":
        """Groups of rows, with a line between two of them."""
        rows = [row for group in groups for row in group]
        return cls(columns, rows, rules=list(accumulate(map(len, groups)))[:-1], **more)

    def cells(self) -> list[list[Cell]]:
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    def numeric(self, column: int) -> bool:
        """Whether the column is set to the right."""
        return column >= self.left if self.left is not None else self._of_numbers[column]

    @cached_property
    def _of_numbers(self) -> list[bool]:
        """Of every column. Whoever sets the table asks about each cell."""
        rows = self.cells()
        known = [[row[i].value for row in rows if i < len(row)] for i in range(len(self.columns))]
        said = [[value for value in column if value is not None] for column in known]
        return [bool(column) and all(isinstance(value, int | float) for value in column) for column in said]
