"""Tables as data: how a cell reads, and which columns hold numbers."""

import pytest

from ropeval.report.table import Cell, Table


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (12345.678, "12,346"), (0.5, "0.5"), (1234567, "1,234,567"), (None, "–"), (float("nan"), "–")],
)
def test_a_cell_in_words(value, text):
    assert Cell(value).text == text


def test_columns_of_numbers_are_found_and_columns_of_words_can_be_counted():
    rows = [["a", 1.0, "x"], ["b", None, 2]]
    assert [Table(["n", "v", "w"], rows).numeric(i) for i in range(3)] == [False, True, False]
    assert [Table(["n", "v", "w"], rows, left=2).numeric(i) for i in range(3)] == [False, False, True]
    assert not Table(["n"], [[None]]).numeric(0)


def test_groups_of_rows_are_parted_by_lines():
    made = Table.grouped(["name", "value"], [[["a", 1], ["", 2]], [["b", 3]], [["c", 4]]], left=1)
    assert [row[1].value for row in made.cells()] == [1, 2, 3, 4]
    assert (list(made.rules), made.left) == ([2, 3], 1)
    assert list(Table.grouped(["name"], []).rules) == []
