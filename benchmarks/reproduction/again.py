"""For seeds.md: runs that stand in two folders, same log, same seed. What differs is rounding, and what became of it.

Members draw the same numbers in any company, but a larger batch of them adds up in another order.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, LOST, PROTOCOL, Evidence

from ropeval.bench.report.tables import error_text, setting
from ropeval.bench.results import Part
from ropeval.bench.rows import BASELINES, RUN, TRUTHS, load_curves
from ropeval.bench.scores import iqm
from ropeval.bench.summary import setting_order, summarise
from ropeval.report.typeset import Cell, Table

COLUMNS = [
    "setting", "runs", "first loss differs by", "last loss differs by", "estimates differ by: median", "largest",
    "two seeds differ by", "IQM before", "IQM again", "diverged before", "again",
]  # fmt: skip


def again_tables(evidence: Evidence) -> list[Table]:
    return [table for before, after in combinations(evidence.parts, 2) for table in _tables(before, after)]


def _tables(before: Part, after: Part) -> Iterator[Table]:
    shared = before.rows.join(after.rows, on=[*RUN, "data_sha256"], how="semi")
    shared = shared.filter(pl.col("protocol") == PROTOCOL, ~pl.col("method").is_in(BASELINES))
    if shared.is_empty():
        return
    losses = _first_stage_losses(before).join(_first_stage_losses(after), on=[*RUN, "step"], suffix="_again")
    losses = losses.with_columns(apart=(pl.col("value_again") / pl.col("value") - 1).abs())
    for (task, method), own in shared.group_by("task", "method", maintain_order=True):
        rows = [
            _row(own.filter(hyper=hyper), after.rows, losses.filter(task=task, method=method, hyper=hyper))
            for hyper in sorted(own["hyper"].unique(), key=setting_order)
        ]
        yield Table(
            f"again-{task}-{method}",
            f"{task}, {LABELS.get(str(method), str(method))}: the same seeds again",
            f"{before.folder.name} before, {after.folder.name} again. Loss: of the method's first stage, the median "
            f"relative difference at the first and the last step that was recorded. Estimates (of runs that diverged "
            f"neither time) and IQM in units of RMAE, {TRUTHS[DEFINITIONS[0]]}. Two seeds: the median over "
            "all pairs of different seeds, before.",
            COLUMNS,
            rows,
            1,
        )


def _row(before: pl.DataFrame, all_after: pl.DataFrame, losses: pl.DataFrame) -> list[Cell | str]:
    """`before`: the runs of one setting."""
    before, after = before.sort("seed"), all_after.join(before, on=RUN, how="semi").sort("seed")
    (truth,) = (v for (name, _), v in summarise(before, {}).truths.items() if name == DEFINITIONS[0])
    values = [np.where(part.select(LOST).to_series(), np.nan, part["estimate"]) for part in (before, after)]
    apart = np.abs(values[0] - values[1]) / truth.unit
    apart = apart[~np.isnan(apart)]  # neither diverged
    between = [abs(one - other) / truth.unit for one, other in combinations(values[0][~np.isnan(values[0])], 2)]
    errors = [np.nan_to_num(np.abs(v - truth.value) / truth.unit, nan=np.inf) for v in values]
    steps = losses["step"].unique().sort().to_list()
    return [
        setting(before["hyper"][0]),
        str(len(before)),
        *(_share(losses.filter(step=steps[at])["apart"]) if steps else "–" for at in (0, -1)),
        *((error_text(float(of(apart))) if len(apart) else "–") for of in (np.median, np.max)),
        error_text(float(np.median(between))) if len(between) else "–",
        *(error_text(float(iqm(own))) for own in errors),
        *(f"{part.select(LOST.sum()).item()} of {len(part)}" for part in (before, after)),
    ]


def _first_stage_losses(part: Part) -> pl.DataFrame:
    curves = load_curves(part.folder).with_columns(pl.col(pl.Categorical).cast(pl.String))
    first = pl.col("method").str.split("+").list.first() == pl.col("stage")
    return curves.filter(pl.col("metric") == "loss", first).select(*RUN, "step", "value")


def _share(differences: pl.Series) -> str:
    middle = float(np.median(differences))
    return f"{middle:.2%}" if middle >= 1e-3 else f"{middle:.0e}"
