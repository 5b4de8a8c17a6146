"""seeds.md: what a table of few seeds would have said, where there are many, and what the same seeds say again."""

from collections.abc import Iterator

import polars as pl
from benchmarks.reproduction.again import again_tables
from benchmarks.reproduction.choices import CHOSEN, PICKS, pick
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, LOST, PROTOCOL, Evidence, page

from ropeval.bench.results.report.tables import error_text, setting
from ropeval.bench.results.rows import TRUTHS
from ropeval.bench.results.summary import summarise
from ropeval.report.table import Cell, Table

FEW = 5


def seeds_page(evidence: Evidence) -> str:
    words = [
        f"IQM of RMAE of every {FEW} seeds, and of all of them together, where a dataset has more than {FEW}. {CHOSEN} "
        "Other logs of the same policies, where there are any, stand beside it."
    ]
    tables, again = [_table(evidence, *cell) for cell in _with_many(evidence)], again_tables(evidence)
    if again:
        words.append(
            "Runs that stand in two folders with the same log and the same seed are compared below: they draw the "
            "same numbers and differ by rounding alone."
        )
    return page("What few seeds tell", words, [*tables, *again], evidence.source)


def _with_many(evidence: Evidence) -> Iterator[tuple[str, str]]:
    for (task, method), own in evidence.summary.runs.items():
        if max(map(len, own.estimates.values())) >= 2 * FEW:
            yield task, method


def _table(evidence: Evidence, task: str, method: str) -> Table:
    rows: list[list[Cell | str]] = []
    for part in evidence.parts:
        own = part.rows.filter(protocol=PROTOCOL, task=task, method=method)
        for (log,), runs in own.group_by("data_sha256", maintain_order=True):
            where: list[Cell | str] = [part.folder.name, str(log)[:8]]
            rows += [where + _row(runs.filter(pl.col("seed").is_in(few)), few) for few in _fives(runs)]
            if runs["seed"].n_unique() > FEW:
                rows.append(where + _row(runs, sorted(runs["seed"].unique())))
    published = evidence.published.rmae.get(task, {}).get(method)
    if published is not None:
        rows.append(["the paper's", "", "20", published.text, *[""] * (len(DEFINITIONS) * (len(PICKS) + 1))])
    columns = ["folder", "log", "seeds"]
    for truth in DEFINITIONS:
        columns += [f"{TRUTHS[truth]}: {name}" for name in PICKS.values()] + ["best is"]
    return Table([*columns, "diverged"], rows, f"{task}, {LABELS[method]}", "", f"seeds-{task}-{method}", 3)


def _fives(runs: pl.DataFrame) -> list[list[int]]:
    seeds = sorted(runs["seed"].unique())
    return [seeds[at : at + FEW] for at in range(0, len(seeds) - FEW + 1, FEW)]


def _row(runs: pl.DataFrame, seeds: list[int]) -> list[Cell | str]:
    summary = summarise(runs)
    ((task, method),) = summary.runs
    row: list[Cell | str] = [f"{seeds[0]}–{seeds[-1]}"]
    for truth in DEFINITIONS:
        picks = {how: pick(summary, truth, task, method, how) for how in PICKS}
        row += ["–" if p is None else error_text(p.value) for p in picks.values()]
        best = picks["best"]
        row.append(setting(best.hyper) if best else "–")
    return [*row, f"{runs.select(LOST.sum()).item()} of {len(runs)}"]
