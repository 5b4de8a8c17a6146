"""What a study that judges several policies per log says about its methods: how near, in which order, how sure.

Errors are measured in units of the task's *range*, the difference between the largest and the smallest true value of
its judged policies: an error of 1 mistakes the worst policy for the best. A case is a policy of a log; what a method
did not answer is counted by reason and enters no centre.

    normalised error    |V̂ − V| / range
    RMAE                |V̂ − V| / |V − value of the random policy|
    spearman            rank correlation of V̂ and V over the policies of a log; 0 where all V̂ are equal
    regret@1            (max V − V of the policy with the largest V̂) / range; the mean of those that tie for it
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from ropeval.bench.results.rows import Failure
from ropeval.bench.results.scores import Floats, Interval, interval_over
from ropeval.bench.results.summary import Summary

Outcome = Literal["answered", "diverged", "refused", "missing"]  # missing: failed, or not run
OUTCOMES: tuple[Outcome, ...] = ("answered", "refused", "diverged", "missing")
SPLITS = {"test": "test split", "dev": "dev split", "": "no split"}  # in the order of the tables
PRECISE = 0.005  # of the range: a truth with a larger standard error is flagged
MOST = 0.9  # of the cases: who answered fewer is not compared with the others
TRUTH = "discounted"


class Line(NamedTuple):
    """A method on the logs of one split, or of one family of it."""

    method: str
    logs: int  # with an answer
    counts: dict[Outcome, int]  # of cases
    median: Interval  # of the normalised error, over cases; intervals over logs
    iqm: Interval
    rmae: Interval  # median
    spearman: Interval  # means over logs: neither has outliers
    regret: Interval
    intervals: int
    coverage: float  # share of the intervals that hold the truth
    width: float  # mean, in units of the range
    seconds: float  # median over logs, each with all of its policies

    @property
    def cases(self) -> int:
        return sum(self.counts.values())

    @property
    def compared(self) -> bool:
        """Whether it answered enough to stand in one order with others."""
        return self.counts["answered"] >= MOST * self.cases


@dataclass(frozen=True)
class Suite:
    """The scores of a study against one definition of the true value."""

    truth: str
    methods: list[str]  # best first, on the first split
    tasks: list[str]
    cases: pl.DataFrame  # one row for each case, method and seed; without a row in the study: for each case and method
    logs: pl.DataFrame  # one row for each log, split, method and seed that has an answer
    seconds: pl.DataFrame  # task, method, seconds: prepare, and all policies
    unscored: list[str]  # tasks whose policies are worth the same, or whose values nobody measured

    @cached_property
    def splits(self) -> list[str]:
        return [split for split in SPLITS if split in set(self.cases["split"])]

    def families(self, split: str) -> list[str]:
        return sorted(self.cases.filter(split=split)["family"].unique())

    def part(self, split: str, method: str | None = None, family: str | None = None) -> pl.DataFrame:
        """Some of the cases."""
        wanted = {"split": split, "method": method, "family": family}
        return self.cases.filter(**{name: value for name, value in wanted.items() if value is not None})

    @cached_property
    def _lines(self) -> dict[tuple[str, str, str | None], Line]:
        """What was worked out already: tables, charts and files ask for the same."""
        return {}

    def line(self, method: str, split: str, family: str | None = None) -> Line:
        key = (method, split, family)
        if key not in self._lines:
            self._lines[key] = self._line(*key)
        return self._lines[key]

    def _line(self, method: str, split: str, family: str | None) -> Line:
        own = self.part(split, method, family)
        rank = pl.col("outcome").replace_strict(OUTCOMES, range(len(OUTCOMES)), return_dtype=pl.Int64)
        worst = own.sort(rank, descending=True).unique(["task", "policy"], keep="first")  # of several seeds
        counts: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0) | dict(worst.group_by("outcome").len().iter_rows())
        answered, logs = own.filter(outcome="answered"), self.logs.join(own, on=["task", "split", "method"], how="semi")
        sure = answered.filter(pl.col("width").is_not_null())
        seconds = self.seconds.join(answered, on=["task", "method"], how="semi")["seconds"]
        return Line(
            method,
            answered["task"].n_unique(),
            counts,
            interval_over(_by_log(answered, "error"), "median"),
            interval_over(_by_log(answered, "error"), "iqm"),
            interval_over(_by_log(answered, "rmae"), "median"),
            interval_over(_by_log(logs, "spearman"), "mean"),
            interval_over(_by_log(logs, "regret"), "mean"),
            len(sure),
            _number(sure["held"].mean()),
            _number(sure["width"].mean()),
            _number(seconds.median()),
        )

    def on_the_cases_of(self, method: str, other: str, split: str) -> float:
        """IQM of the error of another method on the cases that this one answered."""
        answered = self.part(split, method).filter(outcome="answered")
        theirs = self.part(split, other).join(answered, on=["task", "policy"], how="semi")
        return interval_over(_by_log(theirs, "error"), "iqm", resamples=1).value

    def beats(self, method: str, baseline: str, split: str) -> tuple[int, int] | None:
        """On how many logs the method's mean error is lower than the baseline's on the same cases, and of how many.

        On a log without any answer it is not: who gets none falls back on the trivial one.
        """
        mine, other = (
            self.part(split, name).group_by("task", "policy").agg(pl.col("error").mean()) for name in (method, baseline)
        )
        other = other.drop_nulls("error")
        if method == baseline or other.is_empty():
            return None
        both = mine.drop_nulls("error").join(other, on=["task", "policy"], suffix="_other")
        by_log = both.group_by("task").agg(pl.col("error", "error_other").mean())
        return int((by_log["error"] < by_log["error_other"]).sum()), other["task"].n_unique()


def judges_many(rows: pl.DataFrame) -> bool:
    """Whether some task judges several policies."""
    return bool((rows.group_by("task").agg(pl.col("policy").n_unique())["policy"] > 1).any())


def score_suite(summary: Summary, failures: Sequence[Failure], truth: str = TRUTH) -> Suite:
    rows = _shown(summary)
    questions = _questions(rows, truth)
    unscored = set(questions.filter(~pl.col("scored"))["task"])
    asked = questions.filter("scored").drop("scored").join(pl.DataFrame({"method": summary.methods}), how="cross")
    found = rows.select("task", "policy", "method", "seed", "estimate", "low", "high", "diverged")
    refusals = _refusals(asked, failures)
    cases = asked.join(found, on=["task", "policy", "method"], how="left", maintain_order="left")
    cases = cases.join(refusals, on=["task", "policy", "method"], how="left", maintain_order="left").with_columns(
        _outcome(), pl.col("seed").fill_null(0)
    )
    answer = pl.when(pl.col("outcome") == "answered").then(pl.col("estimate"))
    error, unit = (answer - pl.col("value")).abs(), (pl.col("value") - pl.col("random")).abs()
    sure = (pl.col("outcome") == "answered") & pl.col("low").is_finite() & pl.col("high").is_finite()
    cases = cases.with_columns(
        (error / pl.col("range")).alias("error"),
        pl.when(unit > 0).then(error / unit).alias("rmae"),
        pl.when(sure).then(pl.col("value").is_between("low", "high")).alias("held"),
        pl.when(sure).then((pl.col("high") - pl.col("low")) / pl.col("range")).alias("width"),
    )
    task_of = dict(summary.rows.select("case", "task").iter_rows())
    tasks = [task for task in dict.fromkeys(task_of[case] for case in summary.tasks) if task in set(cases["task"])]
    made = Suite(truth, summary.methods, tasks, cases, _log_scores(cases), _seconds(rows), sorted(unscored))
    return _best_first(made)


def _best_first(suite: Suite) -> Suite:
    """Who answered most of the cases stands before who did not."""
    if not suite.splits:
        return suite
    lines = [suite.line(method, suite.splits[0]) for method in suite.methods]
    lines.sort(key=lambda line: (not line.compared, line.iqm.value if np.isfinite(line.iqm.value) else np.inf))
    return replace(suite, methods=[line.method for line in lines])


# --- cases ------------------------------------------------------------------------------------------------------


def _shown(summary: Summary) -> pl.DataFrame:
    """The rows of the settings that stand for their methods."""
    shown = [(case, method, runs.shown) for (case, method), runs in summary.runs.items()]
    names = ["case", "method", "hyper"]
    return summary.rows.join(pl.DataFrame(shown, schema=names, orient="row"), on=names, how="semi")


def _questions(rows: pl.DataFrame, truth: str) -> pl.DataFrame:
    """One row for each policy of each task: family, split, true value, and the range of its task."""
    from ropeval.bench.data.tasks import all_tasks

    families = {name: task.family for name, task in all_tasks().items()}
    value = pl.col("value")
    return (
        rows.group_by("task", "policy", maintain_order=True)
        .agg(
            pl.col("split").first(),
            pl.col(f"truth_{truth}").first().alias("value"),
            pl.col(f"truth_{truth}_se").first().fill_null(0.0).alias("value_se"),
            pl.col(f"random_{truth}").first().alias("random"),
        )
        .with_columns(
            pl.col("task").replace_strict(families, default="other").alias("family"),
            (value.max() - value.min()).over("task").alias("range"),
            value.max().over("task", "split").alias("best"),
        )
        .with_columns(
            (pl.col("value_se") / pl.col("range")).alias("known_to"),
            (value.is_finite() & (pl.col("range") > 0)).fill_null(value=False).alias("scored"),
        )
    )


def _refusals(asked: pl.DataFrame, failures: Sequence[Failure]) -> pl.DataFrame:
    """The cases for which a method said that it has no answer."""
    told = {(f.task, f.policy, f.method) for f in failures if f.refused}
    found = [
        (task, policy, method)
        for task, policy, method in asked.select("task", "policy", "method").iter_rows()
        if (task, policy, method) in told or (task, "", method) in told
    ]
    schema = {"task": pl.String, "policy": pl.String, "method": pl.String}
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(refused=pl.lit(value=True))


def _outcome() -> pl.Expr:
    answered = pl.col("estimate").is_finite() & ~pl.col("diverged")
    return (
        pl.when(answered.fill_null(value=False)).then(pl.lit("answered"))
        .when(pl.col("diverged").is_not_null()).then(pl.lit("diverged"))
        .when(pl.col("refused").is_not_null()).then(pl.lit("refused"))
        .otherwise(pl.lit("missing")).alias("outcome")
    )  # fmt: skip


def _seconds(rows: pl.DataFrame) -> pl.DataFrame:
    """A unit's preparing counts once; its seconds once for each policy, however many members it has."""
    units = rows.group_by("task", "method", "unit", "policy").agg(pl.col("seconds", "seconds_prepare").max())
    units = units.group_by("task", "method", "unit").agg(pl.col("seconds").sum(), pl.col("seconds_prepare").max())
    whole = pl.col("seconds").fill_null(0.0) + pl.col("seconds_prepare").fill_null(0.0)
    return units.group_by("task", "method").agg(whole.sum().alias("seconds")).sort("task", "method")


# --- logs -------------------------------------------------------------------------------------------------------


def _log_scores(cases: pl.DataFrame) -> pl.DataFrame:
    names = ["task", "family", "split", "method", "seed"]
    answered = cases.filter(outcome="answered")
    rows = [
        (*key, len(own), _number(own["error"].mean()), *_order(own))
        for key, own in answered.partition_by(names, maintain_order=True, as_dict=True).items()
    ]
    kinds: dict[str, Any] = dict.fromkeys(names, pl.String) | {"seed": pl.Int64, "policies": pl.Int64}
    return pl.DataFrame(rows, schema=kinds | dict.fromkeys(("error", "spearman", "regret"), pl.Float64), orient="row")


def _order(answered: pl.DataFrame) -> tuple[float | None, float | None]:
    """(spearman, regret) of the answered policies of a log; the best of all of them may be one that was not."""
    guess, true = answered["estimate"].to_numpy(), answered["value"].to_numpy()
    chosen = true[guess == guess.max()].mean()
    regret = float((answered["best"][0] - chosen) / answered["range"][0])
    return spearman(guess, true), regret


def spearman(guess: Floats, true: Floats) -> float | None:
    """None where there is no order to find."""
    from scipy.stats import spearmanr

    if len(true) < 2 or np.ptp(true) == 0.0:
        return None
    return float(spearmanr(guess, true).statistic) if np.ptp(guess) > 0.0 else 0.0


def _by_log(frame: pl.DataFrame, column: str) -> list[Floats]:
    """The values of each log, which the bootstrap draws together."""
    parts = frame.drop_nulls(column).partition_by("task", maintain_order=True)
    return [part[column].to_numpy() for part in parts]


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
