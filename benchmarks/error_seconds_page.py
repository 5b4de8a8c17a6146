"""Error against seconds, as a table and as a picture, from the rows of error_against_seconds.py."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ropeval.report.chart import Chart, Entry, Panel
from ropeval.report.palette import Palette, Style

TRIVIAL = "mean-return"
WANTED = (0.2, 0.1, 0.05)  # errors to be reached
Row = dict[str, Any]


class Line:
    """One contender on one log: at every step that all its policies tell about, the mean over policies of the error (as
    a share of the range of true values) and of the seconds."""

    def __init__(self, found: Sequence[Row]):
        cases: dict[str, dict[int, Row]] = {}  # policy -> steps -> point
        for row in found:
            points = {point["steps"]: {**point, "error": _error(row, point)} for point in row["points"]}
            cases.setdefault(row["policy"], {}).update(points)
        self.policies = len(cases)
        self.steps = sorted(set.intersection(*(set(points) for points in cases.values())))
        self.error, self.cpu, self.clock = (
            np.array([np.mean([points[step][name] for points in cases.values()]) for step in self.steps])
            for name in ("error", "cpu", "clock")
        )

    def until(self, error: float) -> float | None:
        """CPU seconds until the error is this small and stays so; None: it never is."""
        worse = np.flatnonzero(~(self.error <= error))
        first = worse[-1] + 1 if len(worse) else 0
        return float(self.cpu[first]) if first < len(self.steps) else None


def _error(row: Row, point: Row) -> float:
    return np.inf if point["value"] is None else abs(point["value"] - row["truth"]) / row["range"]


def lines(found: Sequence[Row]) -> dict[str, dict[str, Line]]:
    """By log and contender; of the policies that every contender was asked about, in a run that may not have ended."""
    made: dict[str, dict[str, list[Row]]] = {}
    for row in found:
        made.setdefault(row["task"], {}).setdefault(row["who"], []).append(row)
    told: dict[str, dict[str, Line]] = {}
    for task, some in made.items():
        common = set.intersection(*({row["policy"] for row in own} for own in some.values()))
        if common:
            told[task] = {who: Line([row for row in own if row["policy"] in common]) for who, own in some.items()}
    return told


def table(found: Sequence[Row]) -> Iterator[str]:
    for task, some in lines(found).items():
        count = max(line.policies for line in some.values())
        yield f"\n`{task.removeprefix('suite/')}`, {count} polic{'y' if count == 1 else 'ies'}:\n"
        yield "| | steps | error | CPU s | clock s |" + "".join(f" CPU s to {error:.0%} |" for error in WANTED)
        yield "|---|" + "--:|" * (4 + len(WANTED))
        for who, line in some.items():
            reached = (line.until(error) for error in WANTED)
            last = f"{line.steps[-1]:,} | {_share(line.error[-1])} | {line.cpu[-1]:.0f} | {line.clock[-1]:.0f}"
            yield f"| {who} | {last} |" + "".join(f" {'–' if s is None else f'{s:.0f}'} |" for s in reached)


def _share(error: float) -> str:
    return f"{error:.1%}" if error < 10 else f"{error:.0f} ×"


def _kind(who: str) -> str:
    """A method, whatever its members; d3rlpy's FQE, by its settings."""
    return who if who.startswith("d3rlpy") else who.partition(",")[0]


def _style(who: str, colours: Palette) -> Style:
    """A colour for the method, broken where members are several."""
    style = colours[_kind(who)]
    return style._replace(dash="dash") if who.endswith("members") else style


def picture(found: Sequence[Row]) -> Chart:
    made = lines(found)
    names = list(dict.fromkeys(who for some in made.values() for who in some if who != TRIVIAL))
    colours = Palette([*dict.fromkeys(map(_kind, names)), TRIVIAL], [TRIVIAL])
    entries = {name: Entry(name, _style(name, colours)) for name in [*names, TRIVIAL]}
    panels = []
    for task, some in made.items():
        series = [
            entries[who].series(line.cpu, line.error, kind="line" if len(line.steps) > 3 else "points")
            for who, line in some.items()
            if who != TRIVIAL
        ]
        marks = [entries[TRIVIAL].mark(float(some[TRIVIAL].error[-1]))] if TRIVIAL in some else []
        panels.append(Panel(f"{task.removeprefix('suite/')}", series, marks))
    return Chart(
        slug="error-against-seconds",
        title="Error against seconds, beside d3rlpy",
        caption="Mean over some dev policies of a log of |estimate − true value|, as a share of the range of true "
        "values. CPU seconds on one core without imports, with everything else: reading, compiling, training.",
        panels=panels,
        legend=list(entries.values()),
        x_label="CPU seconds",
        y_label="error",
        x_log=True,
        y_range=(0.0, 2.0),
        y_percent=True,
    )
