"""cells.md: the paper's table beside ours, cell by cell, and every column that the paper does not have."""

from collections.abc import Sequence

from benchmarks.reproduction.choices import CHOSEN, PICKS
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, Evidence, page
from benchmarks.reproduction.published import MARKS, agreement

from ropeval.bench.results.report.tables import RULE, error_text, interval_cell, setting
from ropeval.bench.results.rows import TRUTHS
from ropeval.report.table import Cell, Table

COLUMNS = (
    ("mean-reward", "best"), ("mean-return", "best"), ("fqe", "best"), ("fqe-clip", "best"), ("fqe-deep", "best"),
    ("critic+fqe", "best"), ("bcrl+lspe", "best"), ("bcrl+lspe", "median"), ("rope+fqe", "best"),
    ("rope+fqe", "median"), ("rope+fqe", "worst"), ("rope-range+fqe", "best"), ("rope-range+fqe", "median"),
)  # fmt: skip


def cells_page(evidence: Evidence) -> str:
    words = [
        "RMAE, IQM over seeds [95 % bootstrap interval]: the error divided by |ρ(π_e) − ρ(π_rand)|. Every run is "
        "scored against both definitions of ρ, mean reward/(1−γ), which the authors' code computes, and the "
        "discounted return, which the paper states; the setting is chosen anew for each. Runs are settings × seeds.",
        f"{CHOSEN} {RULE} Intervals speak of other seeds: not of another log, and not of the choosing.",
    ]
    if absent := [task for task in evidence.tasks if task not in evidence.summary.tasks]:
        words.append(f"Datasets that were not run are left out: {', '.join(absent)}.")
    if evidence.logs:
        words.append("Rows of more than one log: " + "; ".join(evidence.logs) + ".")
    tables = [
        papers_cells(evidence),
        marks(evidence),
        *(wide(evidence, truth, evidence.d4rl, "the D4RL datasets") for truth in DEFINITIONS),
        *(wide(evidence, truth, evidence.custom, "the custom datasets") for truth in DEFINITIONS),
        *(everything(evidence, task) for task in evidence.ran(evidence.tasks)),
    ]
    return page("Cell by cell", words, [table for table in tables if table.rows], evidence.source)


def label(evidence: Evidence, method: str, how: str) -> str:
    return LABELS.get(method, method) + (f", {PICKS[how]}" if evidence.gridded(method) else "")


def papers_cells(evidence: Evidence) -> Table:
    """One row for each number of the paper's table, of the datasets that were run."""
    rows: list[list[Cell | str]] = []
    for task in evidence.ran(list(evidence.published.rmae)):
        for place, (method, number) in enumerate(evidence.published.rmae[task].items()):
            row: list[Cell | str] = ["" if place else task, LABELS[method], number.text]
            for truth in DEFINITIONS:
                found = evidence.pick(truth, task, method, "best")
                if found is None:
                    row += [evidence.missing(task, method) or "undefined", "–", "–"]
                else:
                    row += [interval_cell(found.interval), setting(found.hyper), agreement(number, found.interval)]
            rows.append([*row, evidence.runs(task, method), evidence.diverged(task, method)])
    columns = ["dataset", "method", "paper"]
    for truth in DEFINITIONS:
        columns += [f"ours, {TRUTHS[truth]}", "setting†", "against the paper"]
    caption = f"BCRL and ROPE at the setting chosen with the truth, as in the paper. {MARKS}"
    return Table([*columns, "runs", "diverged"], rows, "The paper's table", caption, "paper", 3)


def marks(evidence: Evidence) -> Table:
    """How many of the paper's cells agree, under either definition."""
    rows = []
    for method in evidence.published.methods:
        for truth in DEFINITIONS:
            found = {
                task: agreement(numbers[method], own.interval)
                for task, numbers in evidence.published.rmae.items()
                if method in numbers and (own := evidence.pick(truth, task, method, "best"))
            }
            counts = [str(sum(mark.startswith(word) for mark in found.values())) for word in ("agrees", "close")]
            apart = [task.removeprefix("d4rl/") for task, mark in found.items() if mark.startswith("differs")]
            missing = len(evidence.published.rmae) - len(found)
            rows.append(
                [LABELS[method], TRUTHS[truth], *counts, str(len(apart)), str(missing), ", ".join(apart) or "–"]
            )
    caption = "The paper's cells of each method. Cells that diverged on both sides agree under either definition."
    columns = ["method", "ours against", "agree", "close", "differ", "missing", "which differ"]
    return Table(columns, rows, "How many cells agree", caption, "marks", 2)


def wide(evidence: Evidence, truth: str, tasks: Sequence[str], called: str) -> Table:
    """Datasets by methods. The lowest number for which nothing was chosen with the truth is bold."""
    wanted = [
        (method, how)
        for method, how in COLUMNS
        if (method != "critic+fqe" or tasks != evidence.d4rl) and (how == "best" or evidence.gridded(method))
    ]
    rows: list[list[Cell | str]] = []
    for task in evidence.ran(tasks):
        picks = {column: evidence.pick(truth, task, *column) for column in wanted}
        free = {
            column: p.value
            for column, p in picks.items()
            if p is not None and (column[1] == "median" or not evidence.gridded(column[0]))
        }
        lowest = min(free.values(), default=float("inf"))
        row: list[Cell | str] = [task]
        for column, p in picks.items():
            absent = evidence.missing(task, column[0]).removeprefix("missing: ") or "undefined"
            lead = free.get(column) == lowest < float("inf")
            row.append(absent if p is None else Cell(error_text(p.value), lead))
        rows.append(row)
    caption = "The lowest number that needed no truth is bold."
    title = f"RMAE against {TRUTHS[truth]}, {called}"
    return Table(["dataset", *(label(evidence, *c) for c in wanted)], rows, title, caption, f"{called}-{truth}", 1)


def everything(evidence: Evidence, task: str) -> Table:
    """One dataset in full, with intervals."""
    rows: list[list[Cell | str]] = []
    for method in evidence.summary.of_task(task):
        for how in PICKS if evidence.gridded(method) else ("best",):
            row: list[Cell | str] = [label(evidence, method, how)]
            for truth in DEFINITIONS:
                found = evidence.pick(truth, task, method, how)
                row += [interval_cell(found.interval), setting(found.hyper or "{}")] if found else ["undefined", "–"]
            rows.append([*row, evidence.runs(task, method), evidence.diverged(task, method)])
    columns = ["method"]
    for truth in DEFINITIONS:
        columns += [TRUTHS[truth], "setting"]
    wanted = [m for m in LABELS if m != "critic+fqe" or task in evidence.custom]
    absent = [f"{LABELS[m]} ({why.removeprefix('missing: ')})" for m in wanted if (why := evidence.missing(task, m))]
    caption = f"Missing: {', '.join(absent)}." if absent else ""
    return Table([*columns, "runs", "diverged"], rows, task, caption, task, 1)
