"""Groups in rows, methods side by side."""

from dataclasses import replace

from ropeval.evaluation.result import GroupValue, Interval
from ropeval.report.by_group import groups_table
from tests.report.outcomes import estimate

INTERVAL = Interval(1.0, 3.0, 0.95, "t", 5, 10)


def test_a_row_per_policy_and_group():
    groups = [GroupValue("age < 40", 10, 2.0, INTERVAL), GroupValue("age ≥ 40", 12, None)]
    results = [replace(estimate(p, m, 2.0), groups=groups) for p in ("a", "b") for m in ("fqe", "wis")]
    table = groups_table([*results, estimate("a", "mean-reward", 1.0)])
    assert table.columns == ["policy", "group", "episodes", "fqe", "wis"]
    cells = table.cells()
    assert [[c.text for c in row] for row in cells[:2]] == [
        ["a", "age < 40", "10", "2", "2"], ["", "age ≥ 40", "12", "diverged", "diverged"],
    ]  # fmt: skip
    assert cells[0][3].below == "1…3"
    assert len(cells) == 4
    assert groups_table([estimate("a", "fqe", 1.0)]) is None
