"""Two runs in the terminal: what was asked otherwise, and what has moved."""

from itertools import groupby

from rich.console import Console

from ropeval.evaluation.compare_runs import Change, Compared
from ropeval.report.labels import number
from ropeval.report.table import Cell, Table, Value
from ropeval.report.typeset import to_terminal


def print_changes(found: Compared, console: Console) -> None:
    same = "the same log" if found.same_log else "NOT the same log"
    console.print(f"{same}, {len(found.changes)} estimates in both runs", highlight=False)
    for sentence in found.differences:
        console.print(f"note: {sentence}", highlight=False, markup=False)
    console.print(to_terminal(changes_table(found)))


def changes_table(found: Compared) -> Table:
    by_policy = [
        [_row("" if place else policy, change) for place, change in enumerate(own)]
        for policy, own in groupby(found.changes, lambda change: change.policy)
    ]
    return Table.grouped(["policy", "method", "before", "after", "difference", "interval"], by_policy, left=2)


def _row(name: str, change: Change) -> list[Cell | Value]:
    lost = Cell("diverged", tone="severe")
    values = [lost if value is None else value for value in (change.before, change.after)]
    interval = None
    if change.low is not None and change.high is not None:
        interval = f"{number(change.low)}…{number(change.high)}"
    return [name, change.method, *values, change.difference, interval]
