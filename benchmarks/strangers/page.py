"""The tables of docs/results/strangers.md, from the rows; the words stay."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.suite_page import filled

from ropeval.evaluation.verdict.rule import WORDS
from ropeval.files import write_text
from ropeval.report.labels import number
from ropeval.report.table import Row, Table
from ropeval.report.typeset import to_markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "strangers.md"
CLOSED, OPEN = "python -m benchmarks.strangers", "python -m benchmarks.strangers --open"  # what makes their tables
RIGHT, FAR = 0.1, 0.3  # of the range
Rows = Sequence[dict[str, Any]]


def write_page(rows: Rows, one_number: str, command: str) -> None:
    """Every policy by itself only of those that nothing shall be chosen by."""
    parts = [_by_verdict(rows, one_number), _by_method(rows, one_number)]
    if command == CLOSED:
        parts.append(_by_policy([row for row in rows if row["method"] == one_number]))
    marks = (f"<!-- from here on: {command} -->", f"<!-- to here: {command} -->")
    text = "\n\n".join([*parts, _made_with(rows, command)])
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), text, *marks))
    print(PAGE)


def _off(row: dict[str, Any]) -> float:
    """As a share of the range of the task's true values; endless where there is no estimate."""
    return np.inf if row["estimate"] is None else abs(row["estimate"] - row["truth"]) / row["range"]


def _as_told(row: dict[str, Any]) -> bool:
    return bool(_off(row) * row["range"] <= (row["expected"] or 0.0))


def _holds(row: dict[str, Any]) -> bool:
    low, high = row["interval"]
    return bool(low <= row["truth"] <= high)


def _share(true: Sequence[bool]) -> str:
    return f"{sum(true)} of {len(true)}" if true else "–"


def _by_verdict(rows: Rows, one_number: str) -> str:
    found: list[Row] = []
    for method in (one_number, "world", "fqe-clip"):
        for word in WORDS:
            some = [row for row in rows if row["method"] == method and row["verdict"] == word]
            off = [_off(row) for row in some]
            found.append(
                (
                    method, word, len(some), f"{np.median(off):.3f}" if some else "–",
                    _share([x <= RIGHT for x in off]), _share([x > FAR for x in off]),
                    _share([_as_told(row) for row in some]),
                    _share([_holds(row) for row in some if row["interval"]]),
                )
            )  # fmt: skip
    columns = (
        "by", "verdict", "cases", "median error", "within a tenth", "off by over three tenths",
        "no further off than told", "interval holds",
    )  # fmt: skip
    return to_markdown(Table(columns, found, title="What a verdict was worth", left=2), level=3).strip()


def _by_method(rows: Rows, one_number: str) -> str:
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    methods = (one_number, "world", "fqe-clip", "mean-return")

    def mean(task: str, method: str) -> str:
        return f"{np.mean([_off(row) for row in rows if (row['task'], row['method']) == (task, method)]):.3f}"

    def about(task: str) -> tuple[int, float]:
        one = next(row for row in rows if row["task"] == task)
        return one["rows"], one["seconds"]

    found: list[Row] = [(task, *about(task), *(mean(task, method) for method in methods)) for task in tasks]
    columns = ("task", "rows", "seconds", *methods)
    return to_markdown(Table(columns, found, title="Mean error by task", left=1), level=3).strip()


def _by_policy(rows: Rows) -> str:
    found: list[Row] = [
        (
            row["task"], row["policy"], number(row["truth"]), number(row["estimate"]),
            " … ".join(map(number, row["interval"])), row["verdict"], number(row["expected"]), f"{_off(row):.3f}",
        )
        for row in rows
    ]  # fmt: skip
    columns = ("task", "policy", "true", "one number", "interval", "verdict", "off by at most, as told", "error")
    return to_markdown(Table(columns, found, title="Every policy", left=2), level=3).strip()


def _made_with(rows: Rows, command: str) -> str:
    said = {(row["about"]["device"], row["about"]["cpu"], row["about"]["commit"]) for row in rows}
    devices, processors, commits = ({one[place] for one in said} for place in range(3))
    where = f"{', '.join(sorted(devices))} ({', '.join(sorted(processors))})"
    return f"`{command}`, {where}, commit {', '.join(sorted(commits))}."
