"""values.md: the true values beside the paper's and an independent measurement. timings.md: seconds of the device."""

from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, Evidence, page
from benchmarks.reproduction.published import read_independent

from ropeval.bench.data.tasks import all_tasks
from ropeval.bench.results.rows import TRUTHS
from ropeval.report.table import Cell, Table


def values_page(evidence: Evidence, independent: Path) -> str:
    words = [
        "What the policies are worth, measured by playing them; mean ± standard error over episodes. γ = 0.99.",
        "The paper calls its numbers expected discounted returns; the columns behind ours show which definition they "
        "fit.",
    ]
    return page("True values", words, [_values(evidence, independent), _papers(evidence)], evidence.source)


def _values(evidence: Evidence, independent: Path) -> Table:
    rows: list[list[Cell | str]] = []
    for task in evidence.ran(evidence.tasks):
        other = read_independent(independent, task)
        for role, name in (("evaluated", "π_e"), ("random", "random")):
            row: list[Cell | str] = [task if name == "π_e" else "", name]
            for truth in DEFINITIONS:
                known = evidence.summary.truths[truth, task]
                value, error = (known.value, known.value_se) if role == "evaluated" else (known.random, known.random_se)
                again = other.get(role, {}).get(truth)
                row += [_with_error(value, error), "–" if again is None else f"{again:g} ({_apart(again, value)})"]
            rows.append(row)
    columns = ["dataset", "policy"]
    for truth in DEFINITIONS:
        columns += [TRUTHS[truth], "independently"]
    caption = (
        "Independently: measured by a prototype that shares no code with ropeval (benchmarks/paper/independent.toml), "
        "and how far it is from ours. Datasets of one body share their policies and so their values."
    )
    return Table(columns, rows, "Ours, and an independent measurement", caption, "values", 2)


def _papers(evidence: Evidence) -> Table:
    rows: list[list[Cell | str]] = []
    tasks = all_tasks()
    for task, known in evidence.published.values.items():
        row: list[Cell | str] = [task, f"{known['evaluated']:g}"]
        for truth in DEFINITIONS:
            ours = evidence.summary.truths.get((truth, task))
            if ours is None:
                row.append("missing: dataset not run")
            else:
                apart = _apart(known["evaluated"], ours.value)
                row.append(f"{_with_error(ours.value, ours.value_se)} ({apart})")
        own = task in tasks and not tasks[task].policies["evaluated"].files
        rows.append([*row, "this project's: not comparable" if own else "the authors'"])
    columns = ["dataset", "paper's ρ(π_e)", *(f"ours, {TRUTHS[truth]}" for truth in DEFINITIONS), "policy"]
    caption = "In brackets: how far the paper's number is from ours."
    return Table(columns, rows, "The paper's policy values", caption, "papers-values", 1)


def _with_error(value: float, error: float) -> str:
    return f"{value:.1f} ± {error:.2g}" if np.isfinite(value) else "not measured"


def _apart(other: float, ours: float) -> str:
    """How far `other` is from ours, in per cent of ours."""
    return f"{(other - ours) / abs(ours):+.1%}" if np.isfinite(ours) and ours else "–"


def timings_page(evidence: Evidence) -> str:
    """What each unit took, as its rows say."""
    units = evidence.summary.rows.group_by("task", "method", "unit").agg(
        pl.col("seconds").max(), pl.len().alias("runs")
    )
    cells = units.group_by("task", "method").agg(pl.col("seconds").sum(), pl.col("runs").sum())
    found = {(task, method): (seconds, runs) for task, method, seconds, runs in cells.iter_rows()}
    methods = evidence.summary.methods
    rows = []
    for task in evidence.ran(evidence.tasks):
        whole = sum(s for (t, _), (s, _) in found.items() if t == task)
        rows.append([task, *(_seconds(found.get((task, m))) for m in methods), f"{whole:.0f}"])
    totals = {m: sum(s for (_, name), (s, _) in found.items() if name == m) for m in methods}
    rows.append(["all together", *(f"{totals[m]:.0f}" for m in methods), f"{sum(totals.values()):.0f}"])
    caption = (
        "Seconds from the start of a unit to its end, summed over the units of a cell; runs in brackets. The members "
        "of a unit train together, so its seconds are counted once. Units that ran at the same time shared the "
        "device: their seconds add up to more than the hours that passed. Of a unit that was interrupted, all "
        "attempts count; in rows older than commit 4142866, the last one. Compiling is included; collecting the logs "
        "is not."
    )
    columns = ["dataset", *(LABELS.get(m, m) for m in methods), "all"]
    devices = ", ".join(sorted(evidence.summary.rows["device"].drop_nulls().unique()))
    table = Table(columns, rows, f"Seconds on {devices}", caption, "timings", 1)
    return page("Seconds", ["How long the study's runs took."], [table], evidence.source)


def _seconds(cell: tuple[float, int] | None) -> str:
    return "–" if cell is None else f"{cell[0]:.1f} ({cell[1]})" if cell[0] < 10 else f"{cell[0]:.0f} ({cell[1]})"
