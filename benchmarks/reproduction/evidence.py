"""What the study's rows say, read once: the summary, what is missing, the representations at the end of training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from benchmarks.reproduction.choices import Pick, pick
from benchmarks.reproduction.published import Published, read_published

from ropeval.bench.data.tasks import all_tasks
from ropeval.bench.results.missing import Gap, find_gaps_of_all
from ropeval.bench.results.report.write import source_line
from ropeval.bench.results.rows import RUN
from ropeval.bench.results.summary import Summary, summarise
from ropeval.bench.results.together import Part, Results, load_results
from ropeval.report.table import Table
from ropeval.report.typeset import to_markdown

COMMAND = "python -m benchmarks.reproduction"
PROTOCOL = "paper"
DEFINITIONS = ("mean_reward", "discounted")  # what the authors' code computes, what the paper states
LOST = pl.col("diverged") | pl.col("estimate").is_null()
# Of curves: the encoder's, where there is one.
FIRST_STAGE = pl.col("method").str.split("+").list.first() == pl.col("stage")
LABELS = {
    "mean-reward": "trivial: mean reward", "mean-return": "trivial: mean return", "fqe": "FQE", "fqe-clip": "FQE-CLIP",
    "fqe-deep": "FQE-DEEP", "bcrl+lspe": "BCRL", "rope+fqe": "ROPE", "rope-range+fqe": "range-matched ROPE",
    "critic+fqe": "π_e-critic",
}  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    summary: Summary
    published: Published
    gaps: dict[tuple[str, str], list[Gap]]  # (task, method)
    features: pl.DataFrame  # RUN, and what the encoder's last probe measured
    source: str
    d4rl: list[str]  # in the paper's order, run or not
    custom: list[str]
    logs: list[str]  # tasks whose rows come from several logs
    parts: tuple[Part, ...]  # the folders, each as it is
    _picks: dict[tuple[str, str, str, str], Pick | None] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        return [*self.d4rl, *self.custom]

    def ran(self, tasks: Sequence[str]) -> list[str]:
        """Those of which there are rows."""
        return [task for task in tasks if task in self.summary.tasks]

    def pick(self, truth: str, task: str, method: str, how: str) -> Pick | None:
        key = (truth, task, method, how)
        if key not in self._picks:
            known = task in self.summary.tasks
            self._picks[key] = pick(self.summary, truth, task, method, how) if known else None
        return self._picks[key]

    def gridded(self, method: str) -> bool:
        return method in self.summary.gridded

    def missing(self, task: str, method: str) -> str:
        """Why a cell is empty; empty where it is not."""
        if (task, method) in self.summary.runs:
            return ""
        reasons = [gap.reason for gap in self.gaps.get((task, method), []) if gap.reason]
        return f"missing: {reasons[0]}" if reasons else "missing: not run"

    def runs(self, task: str, method: str) -> str:
        """ "9 × 20" settings × seeds, with what the study asks for and has not."""
        own = self.summary.runs.get((task, method))
        if own is None:
            return "0"
        seeds = sorted({len(e) for e in own.estimates.values()})
        words = f"{len(own.settings)} × {seeds[0]}" + (f"–{seeds[-1]}" if len(seeds) > 1 else "")
        absent = sum(gap.expected - gap.present for gap in self.gaps.get((task, method), []))
        return words + (f" ({absent} runs missing)" if absent else "")

    def diverged(self, task: str, method: str) -> str:
        own = self.summary.runs.get((task, method))
        if own is None:
            return "–"
        lost = sum(int(d.sum()) for d in own.diverged.values())
        return f"{lost} of {sum(map(len, own.diverged.values()))}"


def gather(folders: Sequence[Path], published: Path) -> Evidence:
    results, paper = load_results(folders), read_published(published)
    study, rows = results.study, results.rows.filter(protocol=PROTOCOL)
    summary = summarise(rows, study)
    gaps: dict[tuple[str, str], list[Gap]] = {}
    for gap in find_gaps_of_all(results.parts, rows):
        gaps.setdefault((gap.task, gap.method), []).append(gap)
    d4rl = [*paper.rmae, *(t for t in summary.tasks if t.startswith("d4rl/") and t not in paper.rmae)]
    custom = list(dict.fromkeys(t for t in (*all_tasks(), *summary.tasks) if t.startswith("custom/")))
    source = source_line(rows, COMMAND, results.name)
    features = _features(results)
    return Evidence(summary, paper, gaps, features, source, d4rl, custom, results.logs, results.parts)


def _features(results: Results) -> pl.DataFrame:
    """One row per run with an encoder: its feature_* metrics at the last step, those that were recorded."""
    last = results.curves(points=1).with_columns(pl.col(pl.Categorical).cast(pl.String))
    own = last.filter(pl.col("protocol") == PROTOCOL, FIRST_STAGE, pl.col("metric").str.starts_with("feature_"))
    return own.pivot("metric", index=RUN, values="value", aggregate_function="last")


def page(title: str, words: Sequence[str], tables: Sequence[Table], source: str) -> str:
    """Markdown: what it is, where it comes from, the tables."""
    made = f"{source} Made from the study's rows, not to be edited by hand."
    return "\n\n".join([f"# {title}", *words, made, *(to_markdown(t).strip() for t in tables)]) + "\n"
