"""Two runs in the terminal: what was asked otherwise, and what has moved."""

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
    rows: list[list[Cell | Value]] = []
    rules = []
    last = None
    for change in found.changes:
        if last not in (None, change.policy):
            rules.append(len(rows))
        name = change.policy if change.policy != last else ""
        last = change.policy
        rows.append(
            [name, change.method, _value(change.before), _value(change.after), change.difference, _interval(change)]
        )
    return Table(["policy", "method", "before", "after", "difference", "interval"], rows, left=2, rules=rules)


def _value(value: float | None) -> Cell:
    return Cell("diverged", tone="severe") if value is None else Cell(value)


def _interval(change: Change) -> str | None:
    if change.low is None or change.high is None:
        return None
    return f"{number(change.low)}…{number(change.high)}"
