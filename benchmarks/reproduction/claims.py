"""claims.md: the numbers behind the verdicts on claims 2 to 5, under each definition of the value apart."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from benchmarks.reproduction.choices import CHOSEN, PICKS, SURE, improvement, outcome, tally
from benchmarks.reproduction.collapse import collapse_tables
from benchmarks.reproduction.evidence import DEFINITIONS, LABELS, LOST, Evidence, page

from ropeval.bench.results.report.tables import RULE, error_text
from ropeval.bench.results.rows import BASELINES, TRUTHS
from ropeval.bench.results.scores import Interval, iqm
from ropeval.report.table import Table

ROPE = "rope+fqe"
RIVALS = ("fqe", *BASELINES)
BEHIND = ("bcrl+lspe", "fqe-clip", "fqe-deep", "rope-range+fqe", "critic+fqe")
THRESHOLDS = (1.0, 2.0, 10.0)  # the paper speaks of 2 and of 10; 1 is the error of the random policy's value
OUTCOMES = (
    f"“better” or “worse”: in at least {SURE:.1%} of the bootstrap resamples of both sides' seeds; “undecided”: other "
    "seeds could turn it round."
)


def claims_page(evidence: Evidence) -> str:
    words = [
        "Numbers, no verdicts: those are in [reproduction.md](../reproduction.md). Every table belongs to one "
        "definition of the true value and says which; datasets of which a method has no rows are left out of its "
        "counts.",
        f"{CHOSEN} {OUTCOMES} {RULE}",
    ]
    tables = [
        *(counts(evidence, truth) for truth in DEFINITIONS),
        *(efficiency(evidence, truth) for truth in DEFINITIONS),
        *(robustness(evidence, truth) for truth in DEFINITIONS),
        divergence(evidence),
        *(reached(evidence, truth) for truth in DEFINITIONS),
        *collapse_tables(evidence),
        *(behind(evidence, truth) for truth in DEFINITIONS),
    ]
    return page("The numbers behind the claims", words, tables, evidence.source)


def run_on(evidence: Evidence, method: str) -> list[str]:
    return [task for task in evidence.tasks if (task, method) in evidence.summary.runs]


def _groups(evidence: Evidence) -> tuple[tuple[str, list[str]], ...]:
    """Counts are told apart: the paper's table is D4RL's, and the custom datasets are an easier question."""
    return ("D4RL", evidence.d4rl), ("custom", evidence.custom)


# --- claim 2: ROPE+FQE is more data-efficient than FQE -------------------------------------------------------------


def counts(evidence: Evidence, truth: str) -> Table:
    """On how many datasets ROPE has the lower error."""
    rows = []
    for called, tasks in _groups(evidence):
        for how, name in PICKS.items():
            own = {task: evidence.pick(truth, task, ROPE, how) for task in tasks}
            found = [
                tally([outcome(own[t], evidence.pick(truth, t, rival, "best")) for t in tasks]) for rival in RIVALS
            ]
            present = sum(p is not None for p in own.values())
            rows.append([called, f"ROPE, {name}", f"{present} of {len(tasks)}", *found])
    columns = ["datasets", "ROPE's setting", "run on", *(f"than {LABELS[rival]}" for rival in RIVALS)]
    title = f"Claim 2, {TRUTHS[truth]}: is ROPE's error lower?"
    return Table(columns, rows, title, "Numbers of datasets.", f"counts-{truth}", 2)


def efficiency(evidence: Evidence, truth: str) -> Table:
    rows = []
    for task in run_on(evidence, ROPE):
        own = evidence.summary.errors(truth, task, ROPE)
        row = [task]
        for rival in RIVALS:
            errors = evidence.summary.errors(truth, task, rival).get("{}")
            row.append("–" if errors is None or not own else _share(improvement(list(own.values()), errors)))
        for rival in RIVALS:
            against = evidence.pick(truth, task, rival, "best")
            row.append(" · ".join(outcome(evidence.pick(truth, task, ROPE, how), against) for how in PICKS))
        rows.append(row)
    columns = ["dataset", *(f"P(below {LABELS[r]})" for r in RIVALS)]
    columns += [f"than {LABELS[r]}: {' · '.join(PICKS.values())}" for r in RIVALS]
    caption = (
        "P: the probability that a run of ROPE, at any of its settings, has a lower error than a run of the other, "
        "with its 95 % bootstrap interval; nothing is chosen with the truth. Behind it, the IQMs compared, for three "
        "ways to pick ROPE's setting."
    )
    return Table(columns, rows, f"Claim 2, {TRUTHS[truth]}: dataset by dataset", caption, f"efficiency-{truth}", 1)


def _share(interval: Interval) -> str:
    ends = "" if interval.low == interval.high else f" [{interval.low:.2f}, {interval.high:.2f}]"
    return f"{interval.value:.2f}{ends}"


# --- claim 3: robust to d and β ------------------------------------------------------------------------------------


def robustness(evidence: Evidence, truth: str) -> Table:
    rows = []
    for task in run_on(evidence, ROPE):
        values = np.array([float(iqm(e)) for e in evidence.summary.errors(truth, task, ROPE).values()])
        if not len(values):
            continue
        row = [task, str(len(values))]
        for rival in RIVALS:
            bar = evidence.pick(truth, task, rival, "best")
            row.append("–" if bar is None else f"{int(np.sum(values < bar.value))} of {len(values)}")
        low, high = float(values.min()), float(values.max())
        times = "–" if not np.isfinite(high) or low == 0 else f"{high / low:.1f}×"
        rows.append([*row, error_text(low), error_text(float(np.median(values))), error_text(high), times])
    columns = ["dataset", "settings", *(f"below {LABELS[r]}" for r in RIVALS), *PICKS.values(), "worst/best"]
    caption = (
        "How many of ROPE's settings have a lower IQM of RMAE than the others, and how far its settings are apart."
    )
    return Table(columns, rows, f"Claim 3, {TRUTHS[truth]}: over ROPE's settings", caption, f"robustness-{truth}", 1)


# --- claim 4: it mitigates FQE's divergence ------------------------------------------------------------------------


def divergence(evidence: Evidence) -> Table:
    methods = [m for m in evidence.summary.methods if m not in BASELINES]
    rows = [[task, *(evidence.diverged(task, m) for m in methods)] for task in evidence.ran(evidence.tasks)]
    for called, tasks in _groups(evidence):
        lost = evidence.summary.rows.filter(pl.col("task").is_in(tasks)).group_by("method").agg(LOST.sum(), pl.len())
        whole = {method: f"{gone} of {count}" for method, gone, count in lost.iter_rows()}
        rows.append([f"{called} together", *(whole.get(m, "–") for m in methods)])
    caption = (
        "Runs, over all settings and seeds, whose estimate was not finite or beyond ten times max|r|/(1−γ) at a "
        "recorded step. Divergence does not depend on the definition of the true value."
    )
    return Table(
        ["dataset", *(LABELS.get(m, m) for m in methods)], rows, "Claim 4: runs that diverged", caption, "diverged", 1
    )


def reached(evidence: Evidence, truth: str) -> Table:
    methods = evidence.summary.methods
    rows = []
    for task in evidence.ran(evidence.tasks):
        row = [task]
        for method in methods:
            errors = list(evidence.summary.errors(truth, task, method).values())
            runs = np.concatenate(errors) if errors else np.array([])
            row.append(" · ".join(f"{np.mean(runs <= limit):.0%}" for limit in THRESHOLDS) if len(runs) else "–")
        rows.append(row)
    limits = " · ".join(f"{limit:g}" for limit in THRESHOLDS)
    caption = (
        f"Share of all runs, over all settings and seeds, with an RMAE of at most {limits}. The paper says of "
        "Hopper-random and Hopper-medium: nearly 100 % of ROPE's at 2, none of FQE's and FQE-DEEP's at 10."
    )
    title = f"Claim 4, {TRUTHS[truth]}: runs with an RMAE of at most {limits}"
    return Table(["dataset", *(LABELS.get(m, m) for m in methods)], rows, title, caption, f"reached-{truth}", 1)


# --- claim 5: BCRL, FQE-CLIP and FQE-DEEP fall behind --------------------------------------------------------------


def behind(evidence: Evidence, truth: str) -> Table:
    """ROPE against the others, both at their best†, and both at the median of their settings."""
    rows = []
    for rival in BEHIND:
        tasks = [task for task in run_on(evidence, rival) if (task, ROPE) in evidence.summary.runs]
        settings = len({hyper for task in tasks for hyper in evidence.summary.runs[task, rival].settings})
        rows.append([LABELS[rival], "", str(settings), *("" for _ in PICKS)])
        for called, group in _groups(evidence):
            if met := [task for task in group if task in tasks]:
                rows.append(["", f"{called} together", "", *(_tally(evidence, truth, rival, met, h) for h in PICKS)])
        rows += [["", task, "", *(_duel(evidence, truth, rival, task, how) for how in PICKS)] for task in tasks]
    columns = ["other", "dataset", "its settings", *(f"both {name}" for name in PICKS.values())]
    caption = (
        "IQM of RMAE of ROPE against that of the other, and whether ROPE's is better; a method without a grid stands "
        "at its only setting, and more settings to choose from make a better best. Range-matched ROPE is this "
        "project's, not the paper's; π_e-critic needs the critic of π_e."
    )
    title = f"Claim 5, {TRUTHS[truth]}: ROPE against the others"
    return Table(columns, rows, title, caption, f"behind-{truth}", 2)


def _tally(evidence: Evidence, truth: str, rival: str, tasks: Sequence[str], how: str) -> str:
    return tally(
        [outcome(evidence.pick(truth, task, ROPE, how), evidence.pick(truth, task, rival, how)) for task in tasks]
    )


def _duel(evidence: Evidence, truth: str, rival: str, task: str, how: str) -> str:
    own, other = evidence.pick(truth, task, ROPE, how), evidence.pick(truth, task, rival, how)
    if own is None or other is None:
        return "undefined"
    return f"{error_text(own.value)} against {error_text(other.value)}: {outcome(own, other)}"
