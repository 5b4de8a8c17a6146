"""The study's tables. Every one holds the trivial baselines, and says with which truth it was scored and chosen."""

import json
from collections.abc import Sequence

import numpy as np

from ropeval.bench.results.missing import Gap
from ropeval.bench.results.rows import BASELINES, TRUTHS, Failure
from ropeval.bench.results.scores import Interval, iqm
from ropeval.bench.results.summary import CHOICES, Score, Summary
from ropeval.report.labels import number
from ropeval.report.table import Cell, Table

ORACLE = (
    "† chosen with the true value, which nobody has in practice: read it as the most that tuning could give, "
    "not as what a user gets."
)
RULE = "Diverged: more than a quarter of the runs did, so that the IQM is infinite."


def all_tables(summary: Summary) -> list[Table]:
    return [
        overall(summary),
        *(overview(summary, truth) for truth in TRUTHS),
        both_truths(summary),
        *(scores(summary, truth) for truth in TRUTHS),
        true_values(summary),
    ]


def missing_tables(gaps: Sequence[Gap], failures: Sequence[Failure]) -> list[Table]:
    return [table for table in (_gaps(gaps), _failures(failures)) if table.rows]


def overall(summary: Summary) -> Table:
    """One line per method: all tasks together, and on how many it beats the trivial baselines."""
    columns = ["method"]
    rows: list[list[Cell | str]] = [[method] for method in summary.methods]
    for truth, name in TRUTHS.items():
        columns += [f"IQM, {name}", "tasks", "beats both baselines", "best† beats both"]
        found = [summary.overall(truth, method) for method in summary.methods]
        whole = max((len(tasks) for entry in found if entry for tasks in [entry[1]]), default=0)
        lowest = min((e[0].value for e in found if e and len(e[1]) == whole), default=np.inf)
        for row, method, entry in zip(rows, summary.methods, found, strict=True):
            if entry is None:
                row += ["–", "0", "–", "–"]
                continue
            interval, tasks = entry
            best = wins(summary, truth, method, "best") if method in summary.gridded else "–"
            own = "–" if method in BASELINES else wins(summary, truth, method, "default")
            lead = len(tasks) == whole and interval.value == lowest
            row += [interval_cell(interval, lead), str(len(tasks)), own, best]
    caption = (
        "IQM of RMAE over all tasks and seeds together at the default setting, with 95 % stratified bootstrap "
        "intervals; the lowest is bold among the methods that were run on all tasks. Beats both baselines: on how many "
        f"tasks the IQM is lower than that of mean-reward and of mean-return. {RULE} {ORACLE}"
    )
    return Table(columns, rows, "All tasks together", caption, "overall", 1)


def wins(summary: Summary, truth: str, method: str, choice: str) -> str:
    """On how many of its tasks a method's IQM is below both baselines', as "3 of 12"."""
    won = judged = 0
    for task in summary.tasks:
        bars = [summary.score(truth, task, name, "default") for name in BASELINES]
        own = summary.score(truth, task, method, choice)
        if own is None or own.interval is None or any(bar is None or bar.interval is None for bar in bars):
            continue
        judged += 1
        won += all(own.interval.value < bar.interval.value for bar in bars if bar and bar.interval)
    return f"{won} of {judged}" if judged else "–"


def overview(summary: Summary, truth: str) -> Table:
    """The paper's table: tasks by methods."""
    rows: list[list[Cell | str]] = []
    for task in summary.tasks:
        defaults = {m: summary.score(truth, task, m, "default") for m in summary.methods}
        lowest = min((s.interval.value for s in defaults.values() if s and s.interval), default=np.inf)
        row: list[Cell | str] = [task]
        for method, score in defaults.items():
            text = _short(score)
            best = summary.score(truth, task, method, "best")
            if best is not None:
                text += f" · {_short(best)}†"
            first = score is not None and score.interval is not None and score.interval.value == lowest < np.inf
            row.append(Cell(text, first))
        rows.append(row)
    caption = (
        "IQM of RMAE over seeds at the default setting; where a grid was run, the grid's best† stands behind it. "
        f"The lowest default is bold. {RULE} {ORACLE}"
    )
    title = f"RMAE against the {TRUTHS[truth]}, by task and method"
    return Table(["task", *summary.methods], rows, title, caption, f"overview-{_slug(truth)}", 1)


def scores(summary: Summary, truth: str) -> Table:
    """Everything about each cell: default, median of the grid, best of the grid, with intervals and counts."""
    rows: list[list[Cell | str]] = []
    for task in summary.tasks:
        defaults = [summary.score(truth, task, method, "default") for method in summary.methods]
        lowest = min((score.interval.value for score in defaults if score and score.interval), default=np.inf)
        name = task
        for method in summary.of_task(task):
            found = {choice: summary.score(truth, task, method, choice) for choice in CHOICES}
            cells = [
                "–"
                if s is None or s.interval is None
                else interval_cell(s.interval, choice == "default" and s.interval.value == lowest)
                for choice, s in found.items()
            ]
            best, whole = found["best"], found["median"] or found["default"]
            chosen = setting(best.hyper) if best and best.hyper else "–"
            counts = [str(whole.settings), str(whole.runs), str(whole.diverged)] if whole else ["–"] * 3
            rows.append([name, method, *cells, chosen, *counts])
            name = ""
        if (trouble := summary.truths[truth, task].trouble) and not name:
            rows.append(["", trouble, *["–"] * 7])
    columns = ["task", "method", "default", "median of the grid", "best†", "best† setting"]
    caption = (
        "IQM of RMAE over seeds [95 % bootstrap interval]; each task's lowest default is bold. The interval of best† "
        f"is that of the chosen setting and does not cover the choosing. – : no grid was run. {RULE} {ORACLE}"
    )
    columns += ["settings", "runs", "diverged"]
    return Table(columns, rows, f"RMAE against the {TRUTHS[truth]}", caption, f"scores-{_slug(truth)}", 2)


def both_truths(summary: Summary) -> Table:
    """The same runs against either definition."""
    rows: list[list[Cell | str]] = []
    for task in summary.tasks:
        name = task
        for method, runs in summary.of_task(task).items():
            values, lost = runs.estimates[runs.shown], runs.diverged[runs.shown]
            middle = float(iqm(values[~lost])) if not lost.all() else np.inf
            at = [summary.shown_errors(truth, task, method) for truth in TRUTHS]
            errors = ["–" if e is None else error_text(float(iqm(e))) for e in at]
            rows.append([name, method, "Diverged" if np.isinf(middle) else number(middle), *errors])
            name = ""
        truths = [summary.truths[truth, task] for truth in TRUTHS]
        rows.append(["", "true value of π_e", "", *(_with_se(t.value, t.value_se) for t in truths)])
    columns = ["task", "method", "estimate", *(f"RMAE, {name}" for name in TRUTHS.values())]
    caption = (
        "The same runs, at the default setting, scored against both definitions of the true value: IQM of the "
        f"estimates that did not diverge, and IQM of RMAE. The two are never mixed in one number. {RULE}"
    )
    return Table(columns, rows, "The two value definitions side by side", caption, "both-truths", 2)


def true_values(summary: Summary) -> Table:
    rows: list[list[Cell | str]] = []
    for task in summary.tasks:
        row: list[Cell | str] = [task]
        for truth in TRUTHS:
            t = summary.truths[truth, task]
            known = 1.96 * t.value_se / t.unit if t.unit > 0 and np.isfinite(t.unit) else np.nan
            row += [_with_se(t.value, t.value_se), _with_se(t.random, t.random_se)]
            row.append(f"±{known:.3f}" if np.isfinite(known) else "undefined")
        rows.append(row)
    columns = ["task"]
    for name in TRUTHS.values():
        columns += [f"π_e, {name}", f"random, {name}", "known to (RMAE)"]
    caption = (
        "Values measured by playing the policies, ± standard error. RMAE = |estimate − value of π_e| / "
        "|value of π_e − value of the random policy|. Known to: 1.96 standard errors of π_e's value in units of RMAE; "
        "differences below it mean nothing."
    )
    return Table(columns, rows, "True values", caption, "true-values", 1)


def _gaps(gaps: Sequence[Gap]) -> Table:
    rows = []
    for g in gaps:
        which = setting(g.hyper) if g.hyper else "all"
        rows.append([g.task, g.method, which, f"{g.present} of {g.expected}", g.reason or "not run"])
    caption = "Runs that the study names and that are not there. Tables and figures show what is there."
    columns = ["task", "method", "setting", "runs", "reason"]
    return Table(columns, rows, "What is missing", caption, "missing", 5)


def _failures(failures: Sequence[Failure]) -> Table:
    rows = [[f.unit, f.task, f.method, setting(f.hyper), f.error] for f in failures]
    columns = ["unit", "task", "method", "settings in common", "reason"]
    return Table(columns, rows, "Units that failed", "", "failed", 5)


# --- words for numbers ------------------------------------------------------------------------------------------


def setting(hyper: str) -> str:
    """{"rope.beta": 1.0, "rope.dim": "X/3"} as beta=1.0, dim=X/3."""
    fields = json.loads(hyper)
    short = [name.rpartition(".")[2] for name in fields]
    names = short if len(set(short)) == len(short) else list(fields)
    words = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in fields.values())
    return ", ".join(f"{name}={value}" for name, value in zip(names, words, strict=True)) or "–"


def interval_cell(interval: Interval, bold: bool = False) -> Cell:
    if interval.diverged:
        return Cell("Diverged")
    ends = "" if interval.low == interval.high else f" [{error_text(interval.low)}, {error_text(interval.high)}]"
    return Cell(error_text(interval.value) + ends.replace("Diverged", "∞"), bold)


def _short(score: Score | None) -> str:
    return "–" if score is None or score.interval is None else error_text(score.interval.value)


def error_text(value: float) -> str:
    if np.isinf(value):
        return "Diverged"
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.1e}"


def _with_se(value: float, error: float) -> str:
    return f"{number(value)} ± {error:.2g}" if np.isfinite(value) else "not measured"


def _slug(truth: str) -> str:
    return truth.replace("_", "-")
