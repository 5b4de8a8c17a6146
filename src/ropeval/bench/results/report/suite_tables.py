"""The tables of a study that judges several policies per log. Each says of which split it is."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from ropeval.bench.results.missing import Gap
from ropeval.bench.results.report.tables import error_text, interval_cell, setting
from ropeval.bench.results.rows import BASELINES, TRUTHS, Failure, case_name
from ropeval.bench.results.scores import Interval
from ropeval.bench.results.suite_scores import MOST, OUTCOMES, PRECISE, SPLITS, Line, Suite
from ropeval.report.labels import counted, number
from ropeval.report.table import Cell, Table

NORMALISED = "Normalised error: |estimate − true value| / range of the true values of the log's policies."
ANSWERED = (
    "Centres are over the cases that were answered; refused, diverged and missing ones are counted beside them. "
    f"Best first; † answered fewer than {MOST:.0%} of the cases, so it stands below the others and is not compared."
)
INTERVALS = "[95 % bootstrap interval over logs]"
COARSE = f"* known only to a standard error of more than {PRECISE:.1%} of the range."


def suite_tables(suite: Suite) -> list[Table]:
    lines = {split: [suite.line(method, split) for method in suite.methods] for split in suite.splits}
    made = [glance(suite, lines)]
    for split in suite.splits:
        tables = [make(suite, lines[split], split) for make in (accuracy, ranking, answers, families)]
        made += [_of_split(suite, split, table) for table in tables]
    made += [_of_split(suite, split, by_log(suite, split)) for split in suite.splits]
    return [*made, truths(suite)]


def glance(suite: Suite, lines: dict[str, list[Line]]) -> Table:
    """One line per method: the first split in full, the others beside it."""
    first = suite.splits[0]
    columns = ["method", *(f"error, {_word(split)}" for split in suite.splits)]
    columns += [f"answered, {_word(first)}", *(f"beats {name}, {_word(first)}" for name in BASELINES)]
    rows: list[list[Cell | str]] = []
    whole = [place for place, line in enumerate(lines[first]) if line.compared]
    partly = whole and len(whole) < len(suite.methods)  # then the best of the others says how easy their cases are
    columns += [f"{suite.methods[0]} on its cases, {_word(first)}"] if partly else []
    lowest = {split: _best([lines[split][place] for place in whole], "iqm") for split in suite.splits}
    for place, method in enumerate(suite.methods):
        own = lines[first][place]
        errors = [_centre(lines[split][place].iqm, lowest[split]) for split in suite.splits]
        beaten = [_wins(suite, method, name, first) for name in BASELINES]
        there = [_error(suite.on_the_cases_of(method, suite.methods[0], first))] if partly else []
        rows.append([_name(own), *errors, _answered(own), *beaten, *there])
    counted = ((SPLITS[split], *_sizes(suite, split)) for split in suite.splits)
    sizes = "; ".join(f"{name} {logs} logs and {cases} cases" for name, logs, cases in counted)
    caption = (
        f"IQM of the normalised error {INTERVALS}; the lowest is bold. {NORMALISED} Beats: the share of logs on which "
        f"the mean error is lower than that of the trivial estimate on the same cases. {ANSWERED} "
        + (f"Last: the IQM of {suite.methods[0]} on the cases that the method answered. " if partly else "")
        + "Against the "
        f"{TRUTHS[suite.truth]}; {sizes}."
    )
    return Table(columns, rows, "Which estimator to believe", caption, "suite-glance", 1)


def accuracy(suite: Suite, lines: list[Line], split: str) -> Table:
    rows: list[list[Cell | str]] = [
        [
            _name(line), _answered(line),
            *(_centre(getattr(line, score), _best(lines, score)) for score in ("median", "iqm", "rmae")),
            *(_wins(suite, line.method, name, split) for name in BASELINES),
        ]
        for line in lines
    ]  # fmt: skip
    columns = ["method", "answered", "error, median", "error, IQM", "RMAE, median", *(f"beats {b}" for b in BASELINES)]
    caption = (
        f"{NORMALISED} RMAE is measured in the distance to the random policy instead. Each {INTERVALS}. {ANSWERED}"
    )
    return Table(columns, rows, "Accuracy", caption, "accuracy", 1)


def ranking(suite: Suite, lines: list[Line], split: str) -> Table:
    """Whether a method finds the order of the policies, and what its choice costs."""
    highest, lowest = _best(lines, "spearman", max), _best(lines, "regret")
    rows: list[list[Cell | str]] = [
        [_name(line), str(line.logs), _centre(line.spearman, highest), _centre(line.regret, lowest)] for line in lines
    ]
    columns = ["method", "logs", "Spearman", "regret@1"]
    policies = suite.part(split).group_by("task").agg(pl.col("policy").n_unique())["policy"].to_list()
    caption = (
        f"Means over logs of {min(policies)} to {max(policies)} policies {INTERVALS}. Spearman: "
        "rank correlation of estimates and true values; 0 where a method gives all policies of a log one value. "
        "regret@1: the true value lost by choosing the policy with the largest estimate, as a share of the "
        "range; of those that tie, the mean. A policy without an estimate is never chosen."
    )
    return Table(columns, rows, "Ranking", caption, "ranking", 1)


def answers(suite: Suite, lines: list[Line], split: str) -> Table:
    """Intervals, refusals and seconds: what an answer costs, and whether there is one."""
    rows: list[list[Cell | str]] = [
        [
            _name(line), str(line.cases), *(str(line.counts[kind]) for kind in OUTCOMES), str(line.intervals),
            _percent(line.coverage), _error(line.width), _seconds(line.seconds),
        ]
        for line in lines
    ]  # fmt: skip
    columns = ["method", "cases", *OUTCOMES, "intervals", "coverage", "mean width", "seconds per log"]
    caption = (
        "Refused: the method has no answer for the case, and says why. Diverged: its estimate is "
        "beyond what the rewards allow. Missing: failed, or not run. Coverage: the share of the 95 % intervals that "
        "hold the true value; width in units of the range. Seconds: preparing and all policies of a log, of either "
        "split; the median over logs, on the hardware named below."
    )
    return Table(columns, rows, "Answers, intervals and seconds", caption, "answers", 1)


def families(suite: Suite, lines: list[Line], split: str) -> Table:
    """The picture of the errors has the intervals, for which there is no room here."""
    rows: list[list[Cell | str]] = [[line.method] for line in lines]
    columns = ["method"]
    for family in suite.families(split):
        own = [suite.line(line.method, split, family) for line in lines]
        logs = suite.part(split, family=family)["task"].n_unique()
        columns.append(f"{family} ({counted(logs, 'log')})")
        lowest = _best(own, "iqm")
        for row, line in zip(rows, own, strict=True):
            sign = "" if line.compared or not line.logs else " †"
            row.append(Cell(_error(line.iqm.value) + sign, bold=line.compared and line.iqm.value == lowest))
    caption = (
        f"IQM of the normalised error, by family of tasks; the lowest is bold. † answered fewer than {MOST:.0%} of the "
        f"family's cases, and is not compared; – : none of them. {NORMALISED}"
    )
    return Table(columns, rows, "By family", caption, "families", 1)


def by_log(suite: Suite, split: str) -> Table:
    """Logs down, methods across."""
    cases = suite.part(split)
    whole = (pl.col("outcome") == "answered").all().alias("whole")
    cells_of = cases.group_by("task", "method").agg(pl.col("error").mean(), whole)
    means = {(task, method): both for task, method, *both in cells_of.iter_rows()}
    coarse = (pl.col("known_to") > PRECISE).any()
    logs = cases.group_by("task").agg(pl.col("family").first(), pl.col("policy").n_unique(), coarse)
    about = {task: rest for task, *rest in logs.iter_rows()}
    rows: list[list[Cell | str]] = []
    for task in (task for task in suite.tasks if task in about):
        family, policies, rough = about[task]
        found = [means[task, method] for method in suite.methods]
        lowest = min((error for error, every in found if error is not None and every), default=np.inf)
        cells = [Cell("–") if e is None else _shaded(e, every, e == lowest) for e, every in found]
        rows.append([task + (" *" if rough else ""), family, str(policies), *cells])
    caption = (
        "Mean normalised error over the answered cases of a log; in brackets where some were not answered, and the "
        f"lowest is bold among the others. The darker, the nearer to the truth. Its true values, or some: {COARSE}"
    )
    columns = ["log", "family", "policies", *suite.methods]
    return Table(columns, rows, "Log by log", caption, "logs", 2)


def truths(suite: Suite) -> Table:
    """Every case's true value, and how well it is known."""
    columns = ["task", "policy", "split", "family", "true value", "standard error", "range", "error / range"]
    rows: list[list[Cell | str]] = []
    for task in suite.tasks:
        own = suite.cases.filter(task=task).unique("policy", keep="first", maintain_order=True).sort("value")
        for one in own.iter_rows(named=True):
            known = one["known_to"]
            flag = Cell(f"{known:.2%} *", tone="warning") if known > PRECISE else Cell(f"{known:.2%}")
            values = [number(one["value"]), f"{one['value_se']:.2g}", number(one["range"])]
            rows.append([task, one["policy"], one["split"] or "–", one["family"], *values, flag])
    caption = (
        f"The {TRUTHS[suite.truth]} of every judged policy, from weak to strong. An error of 0 is exact. {COARSE} "
        "Differences between methods below it mean nothing."
    )
    return Table(columns, rows, "True values", caption, "suite-truths", 4)


def _of_split(suite: Suite, split: str, table: Table) -> Table:
    """The table, with its split in title, caption and name."""
    logs, cases = _sizes(suite, split)
    about = f"{SPLITS[split].capitalize()}: {logs} logs, {cases} cases; {TRUTHS[suite.truth]}."
    title, slug = f"{table.title}, {SPLITS[split]}", f"suite-{table.slug}-{_word(split)}"
    return replace(table, title=title, caption=f"{about} {table.caption}", slug=slug)


def refusals(failures: Sequence[Failure]) -> Table:
    """By method and reason, whatever the policy is called in it."""
    found: dict[tuple[str, str], list[Failure]] = {}
    for one in failures:
        reason = re.sub(r"^policy [^:]+:", "the policy:", one.error)  # by the name of its file, not by the task's
        found.setdefault((one.method, reason), []).append(one)
    rows = [
        [method, reason, str(len({one.task for one in own})), str(len(own)), case_name(own[0].task, own[0].policy)]
        for (method, reason), own in found.items()
    ]
    columns = ["method", "reason", "logs", "cases", "for example"]
    caption = "Cases for which a method says that it has no answer."
    return Table(columns, rows, "What was refused", caption, "refused", 5)


def absences(gaps: Sequence[Gap]) -> Table:
    """By method, setting and reason: a method that was run on some logs of a suite lacks hundreds of cases."""
    found: dict[tuple[str, str, str], list[Gap]] = {}
    for gap in gaps:
        found.setdefault((gap.method, setting(gap.hyper) if gap.hyper else "all", gap.reason or "not run"), []).append(
            gap
        )
    rows = [
        [*key, str(len({gap.task.partition(" · ")[0] for gap in own})), str(len(own)), own[0].task]
        for key, own in found.items()
    ]
    columns = ["method", "setting", "reason", "logs", "cases", "for example"]
    caption = "Cases that the study names and that are not there. Tables and figures show what is there."
    return Table(columns, rows, "What is missing", caption, "missing", 6)


def coarse_cases(suite: Suite) -> list[str]:
    found = suite.cases.filter(pl.col("known_to") > PRECISE).unique(["task", "policy"], maintain_order=True)
    return [case_name(task, policy) for task, policy in found.select("task", "policy").iter_rows()]


# --- words for numbers ------------------------------------------------------------------------------------------


def _sizes(suite: Suite, split: str) -> tuple[int, int]:
    """Logs and cases."""
    own = suite.part(split)
    return own["task"].n_unique(), own.unique(["task", "policy"]).height


def _word(split: str) -> str:
    return split or "all"


def _name(line: Line) -> str:
    return line.method if line.compared else f"{line.method} †"


def _answered(line: Line) -> str:
    return f"{line.counts['answered']} of {line.cases}"


def _best(lines: Sequence[Line], score: str, of: Callable[..., float] = min) -> float:
    values = (getattr(line, score).value for line in lines if line.compared)
    return of((value for value in values if np.isfinite(value)), default=np.nan)


def _centre(interval: Interval, best: float) -> Cell:
    if not np.isfinite(interval.value):
        return Cell("–")
    return interval_cell(interval, interval.value == best)


def _wins(suite: Suite, method: str, baseline: str, split: str) -> str:
    found = suite.beats(method, baseline, split)
    return "–" if found is None else f"{found[0] / found[1]:.0%}"


def _shaded(error: float, whole: bool, bold: bool) -> Cell:
    text = error_text(error)
    return Cell(text if whole else f"({text})", bold, share=1.0 - min(1.0, error / 0.5))


def _error(value: float) -> str:
    return error_text(value) if np.isfinite(value) else "–"


def _percent(value: float) -> str:
    return f"{value:.0%}" if np.isfinite(value) else "–"


def _seconds(value: float) -> str:
    return "–" if not np.isfinite(value) else f"{value:.2f}" if value < 10 else f"{value:,.0f}"
