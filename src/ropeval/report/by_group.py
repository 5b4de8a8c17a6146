"""The value by group, as one table: groups in rows, methods side by side."""

from collections.abc import Sequence

from ropeval.evaluation.result import Estimate, GroupValue
from ropeval.report.labels import number
from ropeval.report.table import Cell, Table, Value


def groups_table(results: Sequence[Estimate]) -> Table | None:
    """A row per policy and group, with intervals below the values; None where no groups were asked for."""
    told = [r for r in results if r.groups]
    if not told:
        return None
    methods = list(dict.fromkeys(r.method for r in told))
    by_policy = []
    for policy in dict.fromkeys(r.policy for r in told):
        found = {r.method: r.groups for r in told if r.policy == policy}
        rows: list[list[Cell | Value]] = []
        for place, group in enumerate(next(iter(found.values()))):
            values = [_cell(found[method][place]) if method in found else Cell(None) for method in methods]
            rows.append(["" if place else policy, group.name, group.episodes, *values])
        by_policy.append(rows)
    return Table.grouped(["policy", "group", "episodes", *methods], by_policy, left=2)


def _cell(group: GroupValue) -> Cell:
    if group.value is None:
        return Cell("diverged", tone="severe")
    interval = group.interval
    return Cell(group.value, below=f"{number(interval.low)}…{number(interval.high)}" if interval else "")
