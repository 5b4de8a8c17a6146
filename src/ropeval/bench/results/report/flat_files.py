"""The numbers behind tables and figures as flat files, for whoever wants to do their own."""

import polars as pl

from ropeval.bench.results.rows import TRUTHS
from ropeval.bench.results.scores import Interval, iqm_interval
from ropeval.bench.results.suite_scores import Line, Suite
from ropeval.bench.results.summary import Summary
from ropeval.report.chart import Chart


def frames(summary: Summary) -> dict[str, pl.DataFrame]:
    """Name of the file -> its rows."""
    return {"scores": _scores(summary), "settings": _settings(summary), "runs": _runs(summary)}


def _scores(summary: Summary) -> pl.DataFrame:
    """What the tables show: one row per truth, task, method and choice."""
    rows = []
    for (truth, task, method, choice), score in summary.scores.items():
        value, low, high = score.interval or (None,) * 3
        rows.append(
            {"truth": truth, "task": task, "method": method, "choice": choice,
             "chosen_with_the_truth": choice == "best", "hyper": score.hyper, "settings": score.settings,
             "rmae_iqm": value, "rmae_low": low, "rmae_high": high, "runs": score.runs, "diverged": score.diverged}
        )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _settings(summary: Summary) -> pl.DataFrame:
    """Every setting of every grid."""
    rows = []
    for (task, method), runs in summary.runs.items():
        for truth in TRUTHS:
            errors = summary.errors(truth, task, method)
            for hyper in runs.settings:
                found = iqm_interval([errors[hyper]], resamples=500) if hyper in errors else (None,) * 3
                rows.append(
                    {"truth": truth, "task": task, "method": method, "hyper": hyper, "default": hyper == runs.default,
                     "rmae_iqm": found[0], "rmae_low": found[1], "rmae_high": found[2],
                     "runs": len(runs.estimates[hyper]), "diverged": int(runs.diverged[hyper].sum())}
                )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _runs(summary: Summary) -> pl.DataFrame:
    """Every run with its error against either truth; infinite where it diverged, empty where undefined."""
    lost = pl.col("diverged") | pl.col("estimate").is_null() | ~pl.col("estimate").is_finite()
    columns = []
    for truth in TRUTHS:
        unit = (pl.col(f"truth_{truth}") - pl.col(f"random_{truth}")).abs()
        error = (pl.col("estimate") - pl.col(f"truth_{truth}")).abs() / unit
        defined = unit.is_finite() & (unit > 0)
        columns.append(
            pl.when(defined & lost).then(float("inf")).when(defined).then(error).otherwise(None).alias(f"rmae_{truth}")
        )
    return summary.rows.drop("config", "case").with_columns(columns)


def suite_frames(suite: Suite) -> dict[str, pl.DataFrame]:
    """Every method on every split and family; every log; every case."""
    lines = [
        {"split": split, "family": family or "all", "truth": suite.truth} | _flat(suite.line(method, split, family))
        for split in suite.splits
        for family in (None, *suite.families(split))
        for method in suite.methods
    ]
    return {"suite": pl.DataFrame(lines, infer_schema_length=None), "logs": suite.logs, "cases": suite.cases}


def _flat(line: Line) -> dict[str, object]:
    """An interval as NAME, NAME_low, NAME_high; counts by their names."""
    found: dict[str, object] = {}
    for name, value in line._asdict().items():
        if isinstance(value, Interval):
            found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif isinstance(value, dict):
            found |= value
        else:
            found[name] = value
    return found


def chart_frame(chart: Chart) -> pl.DataFrame:
    """The points of a figure, long."""
    parts = []
    for panel in chart.panels:
        for series in panel.series:
            empty = pl.repeat(None, len(series.x), dtype=pl.Float64, eager=True)
            parts.append(
                pl.DataFrame(
                    {"x": series.x.astype(float), "y": series.y.astype(float),
                     "low": empty if series.low is None else series.low,
                     "high": empty if series.high is None else series.high}
                ).select(pl.lit(panel.title).alias("panel"), pl.lit(series.group).alias("series"),
                         pl.lit(series.kind).alias("kind"), pl.all())
            )  # fmt: skip
        for mark in panel.marks:
            words = {"panel": panel.title, "series": mark.group, "kind": f"line at {mark.axis}"}
            at: dict[str, float | None] = {"x": None, "y": None, "low": None, "high": None, mark.axis: mark.value}
            numbers = [pl.lit(value, dtype=pl.Float64).alias(name) for name, value in at.items()]
            parts.append(pl.select(*(pl.lit(word).alias(name) for name, word in words.items()), *numbers))
    return pl.concat(parts) if parts else pl.DataFrame()
