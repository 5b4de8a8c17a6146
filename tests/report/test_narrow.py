"""A table of groups, in terminals wide and narrow: no word breaks in either."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from ropeval.report.narrow import fitted
from ropeval.report.table import Cell, Table

ROWS = [
    [Cell("first", below="deterministic"), "fqe", 1.5, ""],
    ["", Cell("mean-return", below="support 42%"), 22.25, "1 2"],
    [Cell("other"), "fqe", None, "3"],
]
TABLE = Table(["policy", "method", "estimate", "warnings"], ROWS, left=2, rules=[2])


def printed(width: int) -> list[str]:
    console = Console(width=width, file=StringIO(), record=True)
    console.print(fitted(TABLE, console))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_with_room_the_names_are_a_column():
    assert printed(60)[2].split() == ["first", "fqe", "1.5"]


def test_without_room_they_are_headings_and_all_rows_stay_aligned():
    lines = printed(36)
    assert lines[0].split() == ["method", "estimate", "warnings"]
    assert lines[2:] == [
        "first  deterministic",
        "fqe               1.5",
        "mean-return     22.25       1 2",
        "support 42%",
        "",
        "other",
        "fqe                 –         3",
    ]


def test_with_still_less_room_the_last_column_goes_below_the_first():
    lines = printed(26)
    assert lines[0].split() == ["method", "estimate"]
    assert lines[4:7] == ["mean-return     22.25", "support 42%", "warnings 1 2"]


def test_a_long_line_below_a_cell_takes_no_room_from_the_columns():
    long = "supported, support 0.93, 12% from the log"
    cells = TABLE.cells()
    rows = [[cell._replace(below=long) if cell.text == "mean-return" else cell for cell in row] for row in cells]
    console = Console(width=45, file=StringIO(), record=True)
    console.print(fitted(replace(TABLE, rows=rows), console))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines[0].split() == ["method", "estimate", "warnings"]
    assert lines[4:6] == ["mean-return     22.25       1 2", long]


@pytest.mark.parametrize("width", [26, 30, 40, 80])
def test_no_word_breaks(width):
    words = " ".join(printed(width)).split()
    assert {"deterministic", "mean-return", "22.25", "estimate", "warnings", "2", "3"} <= set(words)
