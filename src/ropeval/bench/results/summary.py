"""From rows to what a table shows: every setting's error, and three ways to sum up a grid of settings.

*default*: the setting a user gets who tunes nothing. *median*: the median over the grid, what a blind choice gets.
*best*: the setting with the smallest error, which only someone who knows the true value can choose.
Scores against the two true values are computed apart and never meet in one number.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ropeval.bench.results.rows import BASELINES, CASE, TRUTHS, Progress
from ropeval.bench.results.scores import (
    Floats,
    Interval,
    iqm,
    iqm_interval,
    relative_errors,
    resampled_iqm,
    with_interval,
)
from ropeval.bench.run.study import Study

CHOICES = ("default", "median", "best")


class TrueValues(NamedTuple):
    """One definition of value on one task: that of π_e, which is looked for, and that of the random policy."""

    value: float
    value_se: float
    random: float
    random_se: float

    @property
    def unit(self) -> float:
        """What an RMAE of 1 means in the task's own units."""
        return abs(self.value - self.random)

    @property
    def trouble(self) -> str:
        """Why RMAE is undefined or hardly defined here; empty where all is well."""
        if not np.isfinite(self.value):
            return "RMAE is undefined: the value of π_e was not measured"
        if not np.isfinite(self.random):
            return "RMAE is undefined: the value of the random policy was not measured"
        if self.unit == 0.0:
            return f"RMAE is undefined: π_e and the random policy are worth the same, {self.value:.4g}"
        noise = 2 * np.hypot(self.value_se, self.random_se)
        if self.unit < noise:
            return f"RMAE is mostly noise: π_e and the random policy differ by {self.unit:.3g}, known to ±{noise:.2g}"
        return ""


@dataclass(frozen=True)
class Score:
    """One cell of a table. `interval` is None where the error is undefined."""

    interval: Interval | None
    hyper: str  # of the setting; empty for the median of a grid
    settings: int  # how many there were to choose from
    runs: int
    diverged: int


@dataclass(frozen=True)
class Runs:
    """All runs of one method on one task, by setting."""

    estimates: dict[str, Floats]
    diverged: dict[str, np.ndarray]
    default: str | None  # which setting is the method's default, if it was run

    @property
    def settings(self) -> list[str]:
        return list(self.estimates)

    @property
    def shown(self) -> str:
        """The setting that stands for the method where only one can be shown."""
        return self.default if self.default is not None else self.settings[0]


@dataclass(frozen=True)
class Summary:
    """Everything that the rows of one protocol say.

    What is judged is a policy of a task, a case. A task that judges one policy goes by its own name, so `task` below
    is that name, or "task · policy".
    """

    protocol: str
    rows: pl.DataFrame  # with the column `case`
    tasks: list[str]
    methods: list[str]  # trivial baselines first, then in the study's order
    runs: dict[tuple[str, str], Runs]  # (task, method)
    truths: dict[tuple[str, str], TrueValues]  # (truth, task)
    scores: dict[tuple[str, str, str, str], Score]  # (truth, task, method, choice)

    def errors(self, truth: str, task: str, method: str) -> dict[str, Floats]:
        """Setting -> [n] relative errors; empty where nothing was run or the error is undefined."""
        runs, values = self.runs.get((task, method)), self.truths[truth, task]
        if runs is None:
            return {}
        found = {
            hyper: relative_errors(estimates, runs.diverged[hyper], values.value, values.random)
            for hyper, estimates in runs.estimates.items()
        }
        return {hyper: errors for hyper, errors in found.items() if errors is not None}

    def of_task(self, task: str) -> dict[str, Runs]:
        """By method, those that were run on it."""
        return {method: runs for method in self.methods if (runs := self.runs.get((task, method))) is not None}

    def score(self, truth: str, task: str, method: str, choice: str) -> Score | None:
        return self.scores.get((truth, task, method, choice))

    def shown_errors(self, truth: str, task: str, method: str) -> Floats | None:
        """[n] of the setting that stands for the method."""
        runs = self.runs.get((task, method))
        return None if runs is None else self.errors(truth, task, method).get(runs.shown)

    @cached_property
    def gridded(self) -> list[str]:
        """Methods of which more than one setting was run."""
        return [m for m in self.methods if any(len(r.settings) > 1 for (_, name), r in self.runs.items() if name == m)]

    def overall(self, truth: str, method: str) -> tuple[Interval, list[str]] | None:
        """The IQM over all tasks together at the shown setting, and the tasks that went into it."""
        found = {task: self.shown_errors(truth, task, method) for task in self.tasks}
        strata = {task: errors for task, errors in found.items() if errors is not None}
        return (iqm_interval(list(strata.values())), list(strata)) if strata else None


def summarise(rows: pl.DataFrame, study: Study | None = None, progress: Progress | None = None) -> Summary:
    """`rows` of one protocol; `study` gives the order of the methods, and of tasks that ropeval does not know."""
    (protocol,) = rows["protocol"].unique()
    rows = rows.with_columns(CASE)
    order = study_cases(study, rows)
    tasks = [case for task in order for case in order[task] if case in set(rows["case"])]
    methods = _ordered(rows["method"], [*BASELINES, *(study.methods if study else ())])
    runs = _runs(rows)
    truths = {
        (truth, case): _true_values(frame, truth) for (case,), frame in _split(rows, "case").items() for truth in TRUTHS
    }
    summary = Summary(protocol, rows, tasks, methods, runs, truths, {})
    for place, ((task, method), own) in enumerate(runs.items()):
        for truth in TRUTHS:
            for choice, score in _choose(own, summary.errors(truth, task, method)).items():
                summary.scores[truth, task, method, choice] = score
        if progress:
            progress((place + 1) / len(runs))
    return summary


def _choose(runs: Runs, errors: dict[str, Floats]) -> dict[str, Score]:
    count = len(runs.settings)

    def score(hyper: str, interval: Interval | None) -> Score:
        return Score(interval, hyper, count, len(runs.estimates[hyper]), int(runs.diverged[hyper].sum()))

    every, lost = sum(map(len, runs.estimates.values())), sum(int(d.sum()) for d in runs.diverged.values())
    if not errors:  # undefined: the counts are still worth showing
        found = {"median": Score(None, "", count, every, lost), "best": Score(None, "", count, every, lost)}
        if runs.default is not None:
            found["default"] = score(runs.default, None)
    else:
        values = {hyper: float(iqm(own)) for hyper, own in errors.items()}
        samples = {hyper: resampled_iqm(own) for hyper, own in errors.items()}  # [B] each
        best = min(values, key=lambda hyper: (values[hyper], int(runs.diverged[hyper].sum()), hyper))
        found = {"best": score(best, with_interval(values[best], samples[best]))}
        if runs.default is not None:
            found["default"] = score(runs.default, with_interval(values[runs.default], samples[runs.default]))
        middle = with_interval(median(np.array(list(values.values()))), median(np.stack(list(samples.values()))))
        found["median"] = Score(middle, "", count, every, lost)
    return found if count > 1 or runs.default is None else {"default": found["default"]}


def median(values: Floats) -> Any:
    """Over the first axis. Half of two infinities is infinite, as is half of one."""
    ordered = np.sort(values, axis=0)
    middle = 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
    return float(middle) if middle.ndim == 0 else middle


# --- reading frames ---------------------------------------------------------------------------------------------


def _runs(rows: pl.DataFrame) -> dict[tuple[str, str], Runs]:
    """By case and method. In plain Python: thousands of tiny frames would take longer to make than to read."""
    found: dict[tuple[str, str], dict[str, list[tuple[int, float, bool]]]] = {}  # seed, estimate, diverged by setting
    defaults: dict[tuple[str, str], str] = {}
    columns = rows.select("case", "method", "hyper", "default", "seed", "estimate", "diverged")
    for case, method, hyper, default, seed, estimate, diverged in columns.iter_rows():
        value = np.nan if estimate is None else estimate
        found.setdefault((case, method), {}).setdefault(hyper, []).append((seed, value, diverged or estimate is None))
        if default:
            defaults.setdefault((case, method), hyper)
    made = {}
    for key, settings in found.items():
        by_setting = {
            hyper: sorted(settings[hyper], key=lambda run: run[0]) for hyper in sorted(settings, key=setting_order)
        }
        made[key] = Runs(
            {hyper: np.array([value for _, value, _ in own], np.float64) for hyper, own in by_setting.items()},
            {hyper: np.array([lost for _, _, lost in own], bool) for hyper, own in by_setting.items()},
            defaults.get(key),
        )
    return made


def _true_values(frame: pl.DataFrame, truth: str) -> TrueValues:
    columns = (f"truth_{truth}", f"truth_{truth}_se", f"random_{truth}", f"random_{truth}_se")
    value, value_se, random, random_se = (frame[name][0] for name in columns)
    known = [np.nan if v is None else float(v) for v in (value, random)]
    return TrueValues(known[0], float(value_se or 0.0), known[1], float(random_se or 0.0))


def _split(frame: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], pl.DataFrame]:
    return frame.partition_by(*by, maintain_order=True, as_dict=True)


def _ordered(column: pl.Series, first: Iterable[str]) -> list[str]:
    """The names in `column`: those of `first` in its order, the others after them by name."""
    present = set(column.unique())
    order = [name for name in dict.fromkeys(first) if name in present]
    return order + sorted(present.difference(order))


def study_cases(study: Study | None, rows: pl.DataFrame) -> dict[str, list[str]]:
    """Task -> its cases in `rows`, or its name alone where there are none. The study's tasks and those of the rows, in
    the order of the registry; others follow, in the study's order.

    A study grows by tasks in any order, and its tables should not show in which. Its patterns (d4rl/*) stand for the
    tasks that ropeval knows.
    """
    from ropeval.bench.data.tasks import all_tasks

    cases: dict[str, list[str]] = {}
    for task, case in rows.select("task", CASE).unique().sort("task", "case").iter_rows():
        cases.setdefault(task, []).append(case)
    known, found = list(all_tasks()), list[str]()
    for word in study.tasks if study else ():
        if any(sign in word for sign in "*?["):
            found += [name for name in [*known, *cases] if fnmatchcase(name, word)]
        elif ":" not in word or word in cases:  # FILE.py:NAME is known by the name that its rows carry
            found.append(word)
    every = dict.fromkeys([*found, *cases])
    order = [*(name for name in known if name in every), *(name for name in every if name not in known)]
    return {task: cases.get(task, [task]) for task in order}


def setting_order(hyper: str) -> tuple[Any, ...]:
    """Sorts settings as people would: by number, and X/3 before X/2 before X."""
    return tuple((name, value_order(value)) for name, value in sorted(json.loads(hyper).items()))


def value_order(value: Any) -> tuple[int, float, str]:
    if isinstance(value, bool | int | float):
        return (0, float(value), "")
    share = re.fullmatch(r"(\d*)X(?:/([1-9]\d*))?", str(value))
    return (1, int(share[1] or 1) / int(share[2] or 1), "") if share else (2, 0.0, str(value))
