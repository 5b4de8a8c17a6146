"""Tables whose first column names groups of rows, in terminals that may be too narrow for that column."""

from dataclasses import replace
from itertools import pairwise

from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from ropeval.report.table import Cell, Table
from ropeval.report.typeset import to_terminal

GAP = 2  # between two columns


def fitted(table: Table, console: Console) -> RichTable | Group:
    """The table as it is if no word of it would break, and else with its names as headings."""
    made = to_terminal(table)
    with console.capture() as printed:
        console.print(made)
    words = [word for row in table.cells() for cell in row for word in f"{cell.text} {cell.below}".split()]
    return made if all(word in printed.get() for word in words) else headed(table, console.width)


def headed(table: Table, width: int) -> Group:
    """The names of the first column in lines of their own, each above the rows that it stands for; and likewise what
    stands below a cell of the column that is then the first, which need not be as wide as its line."""
    left = None if table.left is None else table.left - 1
    bare = replace(table, columns=table.columns[1:], rows=[row[1:] for row in table.cells()], left=left, rules=())
    while sum(_widths(bare)) + GAP * len(bare.columns) > width and len(bare.columns) > 2:
        bare = _last_below(bare)
    widths = _widths(bare)

    def aligned(rows: list[list[Cell]], header: bool) -> RichTable:
        made = to_terminal(replace(bare, rows=rows))
        made.show_header = header
        for column, wide in zip(made.columns, widths, strict=True):
            column.min_width, column.width = None, wide
        return made

    parts: list[RichTable | Text] = [aligned([], header=True)]
    for start, end in pairwise([0, *table.rules, len(table.rows)]):
        name = table.cells()[start][0]
        words = Text.assemble((name.text, "bold"), (f"  {name.below}" if name.below else "", "dim"))
        parts += [*([Text()] if start else []), words]
        for first, *others in bare.cells()[start:end]:
            parts.append(aligned([[first._replace(below=""), *others]], header=False))
            parts += [Text(line, "dim") for line in first.below.splitlines()]
    return Group(*parts)


def _last_below(table: Table) -> Table:
    """The last column's cells in a line of their own below the first one's."""
    name, rows = table.columns[-1].replace("\n", " "), list[list[Cell]]()
    for first, *between, last in table.cells():
        told = f"{name} {last.text}" if last.known and last.text else ""
        rows.append([first._replace(below="\n".join(filter(None, [first.below, told]))), *between])
    return replace(table, columns=table.columns[:-1], rows=rows)


def _widths(table: Table) -> list[int]:
    """Of the columns; what stands below cells of the first has lines of its own."""
    first, *others = zip(map(Cell, table.columns), *table.cells(), strict=True)
    columns = [[cell._replace(below="") for cell in first], *others]
    return [
        max(len(line) for cell in column for line in f"{cell.text}\n{cell.below}".split("\n")) for column in columns
    ]
