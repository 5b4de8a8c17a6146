"""For seeds.md: runs that stand in two folders, same log, same seed. What differs is rounding, and what became of it.

Members draw the same numbers in any company, but a larger batch of them adds up in another order.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from benchmarks.reproduction.evidence import DEFINITIONS, FIRST_STAGE, LABELS, LOST, PROTOCOL, Evidence

from ropeval.bench.results.report.tables import error_text, setting
from ropeval.bench.results.rows import BASELINES, RUN, TRUTHS, load_curves
from ropeval.bench.results.scores import iqm, relative_errors
from ropeval.bench.results.summary import TrueValues, setting_order
from ropeval.bench.results.together import Part
from ropeval.report.table import Cell, Table

TRUTH = DEFINITIONS[0]
COLUMNS = [
    "setting", "runs", "first loss differs by", "last loss differs by", "estimates differ by: median", "largest",
    "two seeds differ by", "IQM before", "IQM again", "diverged before", "again",
]  # fmt: skip


def again_tables(evidence: Evidence) -> list[Table]:
    return [table for before, after in combinations(evidence.parts, 2) for table in _tables(evidence, before, after)]


def _tables(evidence: Evidence, before: Part, after: Part) -> Iterator[Table]:
    pairs = _runs(before).join(_runs(after), on=[*RUN, "data_sha256"], suffix="_again").sort(RUN)
    if pairs.is_empty():
        return
    losses = _losses(before).join(_losses(after), on=[*RUN, "step"], suffix="_again")
    losses = losses.with_columns(apart=(pl.col("value_again") / pl.col("value") - 1).abs())
    caption = (
        f"{before.folder.name} before, {after.folder.name} again. Loss: of the method's first stage, the median "
        "relative difference at the first and the last step that was recorded. Estimates (of runs that diverged "
        f"neither time) and IQM in units of RMAE, {TRUTHS[TRUTH]}. Two seeds: the median over all pairs of different "
        "seeds, before."
    )
    for task, method in pairs.select("task", "method").unique(maintain_order=True).iter_rows():
        one = {"task": task, "method": method}
        rows = [
            _row(
                pairs.filter(hyper=hyper, **one),
                losses.filter(hyper=hyper, **one),
                evidence.summary.truths[TRUTH, task],
            )
            for hyper in sorted(pairs.filter(**one)["hyper"].unique(), key=setting_order)
        ]
        title = f"{task}, {LABELS[method]}: the same seeds again"
        yield Table(COLUMNS, rows, title, caption, f"again-{task}-{method}", 1)


def _runs(part: Part) -> pl.DataFrame:
    own = part.rows.filter(pl.col("protocol") == PROTOCOL, ~pl.col("method").is_in(BASELINES))
    return own.select(*RUN, "data_sha256", "estimate", lost=LOST)


def _losses(part: Part) -> pl.DataFrame:
    curves = load_curves(part.folder).with_columns(pl.col(pl.Categorical).cast(pl.String))
    return curves.filter(FIRST_STAGE, pl.col("metric") == "loss").select(*RUN, "step", "value")


def _row(pairs: pl.DataFrame, losses: pl.DataFrame, truth: TrueValues) -> list[Cell | str]:
    """One setting."""
    before, again, lost, lost_again = (
        pairs[name].to_numpy() for name in ("estimate", "estimate_again", "lost", "lost_again")
    )
    apart = np.abs(before - again)[~(lost | lost_again)] / truth.unit
    between = [abs(one - other) / truth.unit for one, other in combinations(before[~lost], 2)]
    errors = [relative_errors(e, gone, truth.value, truth.random) for e, gone in ((before, lost), (again, lost_again))]
    steps = losses["step"].unique().sort().to_list()
    return [
        setting(pairs["hyper"][0]),
        str(len(pairs)),
        *(_share(losses.filter(step=steps[at])["apart"]) if steps else "–" for at in (0, -1)),
        _said(np.median, apart),
        _said(np.max, apart),
        _said(np.median, between),
        *("–" if own is None else _said(iqm, own) for own in errors),
        *(f"{gone.sum()} of {len(gone)}" for gone in (lost, lost_again)),
    ]


def _said(statistic: Callable[[Any], Any], values: Any) -> str:
    return error_text(float(statistic(values))) if len(values) else "–"


def _share(differences: pl.Series) -> str:
    middle = float(np.median(differences))
    return f"{middle:.2%}" if middle >= 1e-3 else f"{middle:.0e}"
