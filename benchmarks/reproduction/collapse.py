"""How much of ROPE's calm is collapse: its features at the end, and how near its estimates are to a trivial one."""

import numpy as np
import polars as pl
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, LOST, Evidence

from ropeval.bench.results.report.tables import setting
from ropeval.bench.results.rows import RUN, TRUTHS
from ropeval.bench.results.summary import setting_order
from ropeval.report.table import Table

ENCODED = ("rope+fqe", "rope-range+fqe", "bcrl+lspe")
TRIVIAL = "mean-reward"
METRICS = {
    "feature_std": "std of a feature", "feature_size": "mean |feature|", "feature_codes": "sign patterns",
}  # fmt: skip
READING = (
    "Features at the end of the encoder's training, over the pairs of the log: the standard deviation of a feature "
    "(0: constant), its mean size (1 is the most that ROPE's tanh allows: each feature is a sign), and the effective "
    "number of different sign patterns, where it was recorded. Median over runs"
)


def collapse_tables(evidence: Evidence) -> list[Table]:
    runs = _runs(evidence)
    return [_by_dataset(evidence, runs), _by_setting(evidence, runs)]


def _runs(evidence: Evidence) -> pl.DataFrame:
    """Every run with an encoder: its features, and its distance to the trivial estimate and to both truths in RMAE."""
    rows = evidence.summary.rows
    trivial = rows.filter(method=TRIVIAL).select("task", pl.col("estimate").alias("trivial"))
    found = rows.filter(pl.col("method").is_in(ENCODED)).join(trivial, on="task", how="left")
    for truth in DEFINITIONS:
        unit = (pl.col(f"truth_{truth}") - pl.col(f"random_{truth}")).abs()
        for name, point in (("trivial", "trivial"), ("truth", f"truth_{truth}")):
            away = pl.when(LOST).then(float("inf")).otherwise((pl.col("estimate") - pl.col(point)).abs() / unit)
            found = found.with_columns(away.alias(f"{name}_{truth}_away"))
    found = found.join(evidence.features, on=RUN, how="left")
    absent = [pl.lit(None, pl.Float32).alias(name) for name in METRICS if name not in found.columns]
    return found.with_columns(absent)


def _by_dataset(evidence: Evidence, runs: pl.DataFrame) -> Table:
    rows = []
    for task in evidence.tasks:
        for place, method in enumerate(m for m in ENCODED if (task, m) in evidence.summary.runs):
            own = runs.filter(task=task, method=method)
            rows.append(["" if place else task, LABELS[method], str(len(own)), *_features(own), *_distances(own)])
    caption = f"{READING} and settings, with the smallest and the largest. {_DISTANCES}"
    title = "Claim 4: representations, and the distance to a trivial estimate"
    return Table(_columns("dataset"), rows, title, caption, "collapse", 2)


def _by_setting(evidence: Evidence, runs: pl.DataFrame) -> Table:
    rows = []
    for method in ENCODED:
        own = _same_seeds(runs.filter(pl.col("method") == method, pl.col("task").is_in(evidence.d4rl)))
        for place, hyper in enumerate(sorted(own["hyper"].unique(), key=setting_order)):
            part = own.filter(hyper=hyper)
            name = "" if place else LABELS[method]
            rows.append([name, setting(hyper), str(len(part)), *_features(part), *_distances(part)])
    caption = "Columns as above; median, smallest and largest over the D4RL datasets that were run, equally many seeds."
    title = "Claim 4: the same by setting, over the D4RL datasets"
    columns = ["method", "setting", *_columns("")[2:]]
    return Table(columns, rows, title, caption, "collapse-settings", 2)


def _same_seeds(runs: pl.DataFrame) -> pl.DataFrame:
    """The first seeds of every dataset, as many as the one with the fewest has: no dataset weighs more than another."""
    place = pl.col("seed").rank("dense").over("task")
    return runs.filter(place <= place.max().over("task").min())


_DISTANCES = (
    "To trivial: median distance of the estimate to the log's mean reward/(1−γ), in units of RMAE, so that it can be "
    "compared with the RMAEs above. Nearer: share of the runs that lie nearer to that number, which knows nothing of "
    "π_e, than to the true value. Runs that diverged are infinitely far from everything."
)


def _columns(first: str) -> list[str]:
    columns = [first, "method", "runs", *METRICS.values()]
    for truth in DEFINITIONS:
        columns += [f"to trivial, {TRUTHS[truth]}", f"nearer to trivial than to π_e's {TRUTHS[truth]}"]
    return [*columns, "diverged"]


def _features(runs: pl.DataFrame) -> list[str]:
    said = []
    for name in METRICS:
        values = runs[name].drop_nulls().drop_nans().to_numpy()
        said.append(
            f"{_short(np.median(values))} ({_short(values.min())} … {_short(values.max())})" if len(values) else "–"
        )
    return said


def _distances(runs: pl.DataFrame) -> list[str]:
    said = []
    for truth in DEFINITIONS:
        away, error = runs[f"trivial_{truth}_away"], runs[f"truth_{truth}_away"]
        known = away.is_not_null().all() and len(away)
        middle = float(np.median(away.to_numpy())) if known else np.nan
        said.append("–" if not known else "∞" if np.isinf(middle) else f"{middle:.3f}")
        said.append(f"{np.mean(away.to_numpy() < error.to_numpy()):.0%}" if known else "–")
    return [*said, str(runs.select(LOST.sum()).item())]


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.0f}"
