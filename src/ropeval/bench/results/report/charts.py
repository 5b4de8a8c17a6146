"""The study's figures: how large the errors are, how they depend on settings, and what both truths make of them."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ropeval.bench.results.rows import BASELINES, TRUTHS
from ropeval.bench.results.scores import Floats, iqm, iqm_interval, performance_profile
from ropeval.bench.results.summary import Summary, value_order
from ropeval.report.chart import Chart, Entry, Mark, Panel, Series, error_range
from ropeval.report.labels import slugs
from ropeval.report.palette import INK, Palette, Style

THRESHOLDS = np.geomspace(0.01, 10.0, 61)  # the paper cuts its profiles off at 10, too
NAMES = {"beta": "β, the weight of the angle", "dim": "d, the size of φ", "learning_rate": "learning rate"}
VALUES = [  # drawn as lines: of π_e by either definition, and of the random policy
    Entry(TRUTHS["discounted"], Style(INK, "solid", "circle")),
    Entry(TRUTHS["mean_reward"], Style(INK, "dash", "diamond")),
    Entry("random policy, discounted", Style(INK, "dot", "x")),
]


def legend(methods: Sequence[str], palette: Palette, marker: bool = False) -> list[Entry]:
    return [Entry(method, palette[method], marker) for method in methods]


def profiles(summary: Summary, palette: Palette, truth: str) -> Chart:
    """The share of all runs, of all settings, with an error up to each threshold."""
    everything = {
        (task, method): list(summary.errors(truth, task, method).values())
        for task in summary.tasks
        for method in summary.methods
    }

    def panel(title: str, tasks: Sequence[str]) -> Panel:
        drawn = []
        for method in reversed(summary.methods):  # the baselines on top
            strata = [errors for task in tasks for errors in everything[task, method]]
            if strata:
                found = performance_profile(strata, THRESHOLDS)
                wide = sum(map(len, strata)) > 1
                low, high = (found.low, found.high) if wide else (None, None)
                drawn.append(Series(method, palette[method], THRESHOLDS, found.share, low, high, "step"))
        return Panel(title, drawn, note="RMAE is undefined")

    several = [panel("all tasks", summary.tasks)] if len(summary.tasks) > 1 else []
    return Chart(
        slug=f"profiles-{truth.replace('_', '-')}",
        title=f"Performance profiles, {TRUTHS[truth]}",
        caption="Share of runs, over all seeds and all settings, with an RMAE of at most the threshold; bands are 95 % "
        "bootstrap intervals, drawn within each task and setting. Runs that diverged never arrive. Higher is better.",
        panels=[*several, *(panel(task, [task]) for task in summary.tasks)],
        legend=legend(summary.methods, palette),
        x_label=f"RMAE, {TRUTHS[truth]}",
        y_label="share of runs",
        x_log=True,
        x_range=(float(THRESHOLDS[0]), float(THRESHOLDS[-1])),
        y_range=(-0.02, 1.02),
    )


# --- sensitivity ------------------------------------------------------------------------------------------------


def sensitivities(summary: Summary, palette: Palette, truth: str) -> list[Chart]:
    """One chart for each thing that a grid varies: β, d, whatever the study names."""
    axes: dict[str, dict[str, str]] = {}  # what is varied -> method -> its key in `hyper`
    for method in summary.gridded:
        for key in _varied(summary, method):
            field = key.rpartition(".")[2]
            alone = sum(k.rpartition(".")[2] == field for k in _varied(summary, method)) == 1
            axes.setdefault(field if alone else key, {})[method] = key
    files = slugs(sorted(axes))
    return [_sensitivity(summary, palette, truth, name, axes[name], files[name]) for name in files]


def _sensitivity(summary: Summary, palette: Palette, truth: str, name: str, keys: dict[str, str], file: str) -> Chart:
    found = {
        (task, method): _by_value(summary, truth, task, method, key)
        for task in summary.tasks
        for method, key in keys.items()
    }
    names = sorted({v for values in found.values() for v in values}, key=lambda text: value_order(json.loads(text)))
    plain = {method.rpartition("+")[2] for method in keys} - set(keys)
    beside = [m for m in summary.methods if m in BASELINES or m in plain]
    width = 0.5 / max(1, len(keys) - 1)
    panels = []
    for task in summary.tasks:
        drawn, seen = [], []
        for place, method in enumerate(keys):
            at = found[task, method]
            if not at:
                continue
            intervals = [iqm_interval(strata, resamples=500) for strata in at.values()]
            x = np.array([float(names.index(text)) for text in at]) + (place - (len(keys) - 1) / 2) * width
            y, low, high = np.array(intervals).T
            drawn.append(Series(method, palette[method], x, y, low, high, "points"))
            seen += [y, low]
        marks = []
        for method in beside:
            errors = summary.shown_errors(truth, task, method)
            if errors is not None:
                marks.append(Mark(method, palette[method], float(iqm(errors))))
                seen.append(np.array([marks[-1].value]))
        panels.append(Panel(task, drawn, marks, y_range=error_range(seen), note="RMAE is undefined"))
    label = NAMES.get(name, name)
    return Chart(
        slug=f"sensitivity-{file}-{truth.replace('_', '-')}",
        title=f"Sensitivity to {label}; {TRUTHS[truth]}",
        caption="IQM of RMAE over all runs that share the value, whatever else the grid varied, with 95 % bootstrap "
        "intervals. Lines are methods without this setting. An arrow at the upper edge: diverged, or off the scale.",
        panels=panels,
        legend=[*legend(list(keys), palette, marker=True), *legend(beside, palette)],
        x_label=label,
        y_label=f"RMAE, {TRUTHS[truth]}",
        y_log=True,
        x_range=(-0.5, len(names) - 0.5),
        x_names=[n.strip('"') for n in names],
    )


def _varied(summary: Summary, method: str) -> list[str]:
    """The keys of `hyper` that take more than one value."""
    taken: dict[str, set[str]] = {}
    for (_, name), runs in summary.runs.items():
        for hyper in runs.settings if name == method else ():
            for key, value in json.loads(hyper).items():
                taken.setdefault(key, set()).add(json.dumps(value))
    return sorted(key for key, values in taken.items() if len(values) > 1)


def _by_value(summary: Summary, truth: str, task: str, method: str, key: str) -> dict[str, list[Floats]]:
    """Value of `key` as JSON -> the errors of every setting that has it."""
    found: dict[str, list[Floats]] = {}
    for hyper, errors in summary.errors(truth, task, method).items():
        setting = json.loads(hyper)
        if key in setting:
            found.setdefault(json.dumps(setting[key]), []).append(errors)
    return found


# --- the two truths ---------------------------------------------------------------------------------------------


def estimates(summary: Summary, palette: Palette) -> Chart:
    """Every run's estimate at the shown setting, against both definitions of the true value."""
    panels = []
    for task in summary.tasks:
        truths = {truth: summary.truths[truth, task] for truth in TRUTHS}
        known = [v for t in truths.values() for v in (t.value, t.random)]
        run = summary.of_task(task)
        fixed = [e for method, r in run.items() if method in BASELINES for e in r.estimates[r.shown]]
        inside = np.array([v for v in (*known, *fixed) if np.isfinite(v)] or [0.0, 1.0])
        low, high = _room(inside, [r.estimates[r.shown][~r.diverged[r.shown]] for r in run.values()])
        drawn = []
        for method, r in run.items():
            values = np.where(r.diverged[r.shown], np.inf, r.estimates[r.shown])
            spread = np.linspace(-0.25, 0.25, len(values)) if len(values) > 1 else np.zeros(1)
            place = summary.methods.index(method)
            drawn.append(Series(method, palette[method], values, place + spread, kind="dots"))
        lines = (truths["discounted"].value, truths["mean_reward"].value, truths["discounted"].random)
        marks = [entry.mark(at, "x") for entry, at in zip(VALUES, lines, strict=True) if np.isfinite(at)]
        panels.append(Panel(task, drawn, marks, x_range=(low, high)))
    return Chart(
        slug="estimates",
        title="Estimates and the two true values",
        caption="One dot per run at the default setting; the lines are what π_e is worth by either definition, and "
        "what the random policy is worth. An arrow at the edge: an estimate beyond it; at the right edge, also a run "
        "that diverged.",
        panels=panels,
        legend=VALUES,
        x_label="estimated value",
        y_names=summary.methods,
    )


def _room(inside: Floats, estimates: Sequence[Floats]) -> tuple[float, float]:
    """A range that holds `inside` and those methods whose estimates are not far from it."""
    low, high = float(inside.min()), float(inside.max())
    span = (high - low) or 1.0
    near = [m for e in estimates if len(e) and low - span < (m := float(iqm(e))) < high + span]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.25 * ((high - low) or 1.0)
    return low - margin, high + margin


def targets(summary: Summary, palette: Palette) -> Chart:
    """The same runs scored against either truth: which method looks good depends on the target."""
    symbols = {truth: entry.style.symbol for truth, entry in zip(TRUTHS, VALUES, strict=False)}
    panels, seen = [], []
    for task in summary.tasks:
        drawn = []
        for place, method in enumerate(summary.methods):
            found = {truth: summary.shown_errors(truth, task, method) for truth in TRUTHS}
            at = {truth: float(iqm(errors)) for truth, errors in found.items() if errors is not None}
            style = palette[method]
            if len(at) == 2:
                joined = np.array([v if np.isfinite(v) else np.nan for v in at.values()])
                drawn.append(Series(method, style._replace(dash="solid"), joined, np.full(2, place), kind="faint"))
            for truth, value in at.items():
                own = Style(style.colour, "solid", symbols[truth])
                drawn.append(Series(TRUTHS[truth], own, np.array([value]), np.array([float(place)]), kind="dots"))
                seen.append(np.array([value]))
        panels.append(Panel(task, drawn))
    return Chart(
        slug="two-truths",
        title="The same runs against both true values",
        caption="IQM of RMAE at the default setting, against the discounted return (circles) and against mean "
        "reward/(1−γ) (diamonds). Lower is better. An arrow at the right edge: diverged, or off the scale.",
        panels=panels,
        legend=[replace(entry, marker=True) for entry in VALUES[:2]],
        x_label="RMAE",
        x_log=True,
        x_range=error_range(seen),
        y_names=summary.methods,
    )


def all_charts(summary: Summary, palette: Palette) -> list[Chart]:
    return [
        targets(summary, palette),
        estimates(summary, palette),
        *(profiles(summary, palette, truth) for truth in TRUTHS),
        *(chart for truth in TRUTHS for chart in sensitivities(summary, palette, truth)),
    ]
