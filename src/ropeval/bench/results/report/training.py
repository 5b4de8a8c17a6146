"""The study's figures of training: errors, losses and features over gradient steps."""

from dataclasses import replace

import numpy as np

from ropeval.bench.results.curve_bands import Curve, Line, Name, error_line, line, settled, stage_of
from ropeval.bench.results.report.charts import legend
from ropeval.bench.results.rows import BASELINES, TRUTHS
from ropeval.bench.results.scores import iqm
from ropeval.bench.results.summary import Summary
from ropeval.evaluation.diagnosis.about_fit import DRIFT
from ropeval.report.chart import Chart, Entry, Mark, Panel, Series, error_range, joined
from ropeval.report.palette import Palette

NAMED = 2  # curves in the corner of a panel; more would not fit
SETTINGS = {  # in a title, and in a caption
    "default": ("default", "each method at its default setting"),
    "best": ("best†", "each method at its best setting, chosen with the true value, which nobody has in practice"),
}
Curves = dict[Name, Curve]
AVERAGED = "Over pairs of the log for each dimension, then averaged over the dimensions"
COUNTED = (
    "The different patterns of signs that some 1,000 pairs of the log have, each counted by how common it is (1/Σp²)"
)
FEATURES = {  # metric -> what it is, how it was measured, how to read it
    "feature_mean": ("mean of the features", AVERAGED, ""),
    "feature_std": (
        "standard deviation of the features",
        AVERAGED,
        "Near 0, the features are constant, and all pairs look alike to q. A large one is no sign of health: features "
        "that are mere signs have it, too; see their size.",
    ),
    "feature_size": (
        "mean size of the features",
        AVERAGED,
        "Near 1 in methods that end in tanh, the features are saturated: each is a sign, and the number of sign "
        "patterns, where it was recorded, says how many different inputs the estimator is left with.",
    ),
    "feature_codes": (
        "number of sign patterns",
        COUNTED,
        "1: all pairs have the same signs. Where the features are saturated (a size near 1), this is how many "
        "different inputs the estimator is left with; where they are not, their sizes tell more apart.",
    ),
}


def training_charts(summary: Summary, curves: Curves, palette: Palette) -> list[Chart]:
    choices = ("default", "best") if summary.gridded else ("default",)
    charts = [error_curves(summary, curves, palette, truth, choice) for truth in TRUTHS for choice in choices]
    charts += [losses(summary, curves, palette, part) for part in ("encoder", "estimator")]
    charts += [features(summary, curves, palette, metric) for metric in FEATURES]
    return [chart for chart in charts if chart.drawn]


def error_curves(summary: Summary, curves: Curves, palette: Palette, truth: str, choice: str) -> Chart:
    """RMAE over the steps of the estimator's training."""
    panels, seen = [], []
    for task in summary.tasks:
        values, drawn, marks, moving = summary.truths[truth, task], [], [], []
        undefined = values.trouble.startswith("RMAE is undefined")
        for method, runs in ({} if undefined else summary.of_task(task)).items():
            score = summary.score(truth, task, method, choice) if choice == "best" else None
            hyper = score.hyper if score is not None and score.hyper else runs.shown
            curve = curves.get((task, method, hyper, stage_of(method, "estimator"), "estimate"))
            if curve is not None:
                drawn.append(_series(method, palette, error_line(curve, values)))
                if not settled(curve):
                    drawn[-1] = replace(drawn[-1], label=f"{method} (not converged)")
                    moving.append(method)
                seen.append(drawn[-1].y)
            else:
                errors = summary.errors(truth, task, method)[hyper]
                marks.append(Mark(method, palette[method], float(iqm(errors))))
                seen.append(np.array([marks[-1].value]))
        if drawn or undefined:  # level lines alone would need steps that nobody took
            panels.append(Panel(task, drawn, marks, note="RMAE is undefined", remark=_not_converged(moving, drawn)))
    name, words = SETTINGS[choice]
    return Chart(
        slug=f"errors-{truth.replace('_', '-')}-{choice}",
        title=f"Error over training, {name} setting; {TRUTHS[truth]}",
        caption=f"IQM of RMAE over seeds with 95 % bootstrap bands, {words}. Methods without a curve are level lines. "
        "A line that leaves the top goes beyond the scale; one that ends has diverged, or was trained for fewer steps. "
        f"Not converged: the estimate still moved by more than {DRIFT:.0%} over the last quarter of its steps. "
        "Lower is better.",
        panels=panels,
        legend=legend(summary.methods, palette),
        x_label="gradient step of the estimator",
        y_label=f"RMAE, {TRUTHS[truth]}",
        y_log=True,
        y_range=error_range(seen, floor=5e-3),
    )


def _not_converged(methods: list[str], drawn: list[Series]) -> str:
    named = ", ".join(methods) if len(methods) <= NAMED else f"{len(methods)} of {len(drawn)} curves"
    return f"not converged: {named}" if methods else ""


def losses(summary: Summary, curves: Curves, palette: Palette, part: str) -> Chart:
    """The loss of φ (encoder) or of q (estimator)."""
    what = "φ (the encoder)" if part == "encoder" else "q (the estimator)"
    return Chart(
        slug=f"loss-{'phi' if part == 'encoder' else 'q'}",
        title=f"Training loss of {what}",
        caption="IQM over seeds with 95 % bootstrap bands at the default setting; thin lines are the grid's other "
        "settings. Losses of different methods measure different things.",
        panels=_over_settings(summary, curves, palette, "loss", part),
        legend=_trained(summary, curves, palette, "loss", part),
        x_label=f"gradient step of {what}",
        y_label="loss",
        y_log=True,
    )


def features(summary: Summary, curves: Curves, palette: Palette, metric: str) -> Chart:
    what, measured, reading = FEATURES[metric]
    panels = _over_settings(summary, curves, palette, metric, "encoder")
    counted = metric == "feature_codes"
    return Chart(
        slug=metric.replace("_", "-"),
        title=f"Representations: {what}",
        caption=f"{measured}; IQM over seeds with 95 % bootstrap bands at the default setting, thin lines are "
        f"the grid's other settings. {reading}".strip(),
        panels=panels,
        legend=_trained(summary, curves, palette, metric, "encoder"),
        x_label="gradient step of φ (the encoder)",
        y_label=what,
        y_log=counted or metric == "feature_size",  # some methods bound their features by 1, others by nothing
        y_range=_from_one(panels) if counted else None,
    )


def _from_one(panels: list[Panel]) -> tuple[float, float]:
    """A range for counts that are compared between tasks: from one to the largest."""
    seen = np.concatenate([np.ones(1), *(series.y for panel in panels for series in panel.series)])
    return 0.9, 1.25 * max(2.0, float(seen[np.isfinite(seen)].max()))


def _over_settings(summary: Summary, curves: Curves, palette: Palette, metric: str, part: str) -> list[Panel]:
    """A panel for each task on which something recorded the metric."""
    panels = []
    for task in summary.tasks:
        drawn: list[Series] = []
        for method, runs in summary.of_task(task).items():
            faint = []
            for hyper in runs.settings:
                curve = curves.get((task, method, hyper, stage_of(method, part), metric))
                if curve is None:
                    continue
                if hyper == runs.shown:
                    drawn.append(_series(method, palette, line(curve)))
                else:
                    found = line(curve, band=False)
                    faint.append(Series(method, palette[method], found.steps, found.value, kind="faint"))
            if faint:
                drawn.insert(0, joined(faint))
        if drawn:
            panels.append(Panel(task, drawn))
    return panels


def _trained(summary: Summary, curves: Curves, palette: Palette, metric: str, part: str) -> list[Entry]:
    present = {method for _, method, _, stage, name in curves if name == metric and stage == stage_of(method, part)}
    untrained = [Entry(f"{m} (trains nothing)", palette[m]) for m in summary.methods if m in BASELINES]
    return [*untrained, *legend([m for m in summary.methods if m in present], palette)]


def _series(method: str, palette: Palette, found: Line) -> Series:
    band = (None, None) if np.array_equal(found.low, found.high) else (found.low, found.high)
    return Series(method, palette[method], found.steps, found.value, *band)
