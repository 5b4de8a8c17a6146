"""The pictures of a study that judges several policies per log: errors by family, profiles, what accuracy costs."""

import numpy as np

from ropeval.bench.results.report.charts import legend
from ropeval.bench.results.rows import TRUTHS
from ropeval.bench.results.scores import Floats
from ropeval.bench.results.suite_scores import SPLITS, Line, Suite
from ropeval.report.chart import Chart, Panel, Series, error_range
from ropeval.report.labels import counted
from ropeval.report.palette import Palette

THRESHOLDS = np.geomspace(0.005, 5.0, 81)  # of the normalised error
FLOOR = 2e-3  # errors below it look alike
ALL = "all families"


def suite_charts(suite: Suite, palette: Palette) -> list[Chart]:
    """The first split in full, then the others."""
    found = [seconds(suite, palette)]
    for split in suite.splits:
        found += [errors(suite, palette, split), profile(suite, palette, split)]
    return found


def _families(suite: Suite, split: str) -> list[tuple[str, str | None]]:
    """Title of a panel and its family; one family needs no panel of its own."""
    names = suite.families(split)
    return [(ALL, None), *((name, name) for name in names if len(names) > 1)]


def errors(suite: Suite, palette: Palette, split: str) -> Chart:
    """IQM of the normalised error, methods down."""
    seen: list[Floats] = []
    panels = []
    for title, family in _families(suite, split):
        drawn = []
        for place, method in enumerate(suite.methods):
            line = suite.line(method, split, family)
            if line.counts["answered"]:
                x, low, high = (np.array([max(FLOOR, end)]) for end in line.iqm)
                words = [f"{method}: {line.iqm.value:.3g}, {line.counts['answered']} of {line.cases} cases"]
                at = np.array([float(place)])
                drawn.append(Series(method, palette[method], x, at, low, high, "points", words=words))
                seen += [x, low, high]
        logs = suite.part(split, family=family)["task"].n_unique()
        panels.append(Panel(f"{title}, {counted(logs, 'log')}", drawn, note="no answer"))
    return Chart(
        slug=f"suite-errors-{split or 'all'}",
        title=f"Errors by family, {SPLITS[split]}",
        caption="IQM of the normalised error over the answered cases, with 95 % bootstrap intervals over logs; "
        f"the true value is the {TRUTHS[suite.truth]}. Lower is better. Methods in the order of the first table. An "
        "arrow at the right edge: off the scale.",
        panels=panels,
        legend=legend(suite.methods, palette, marker=True),
        x_label="normalised error",
        x_log=True,
        x_range=error_range(seen),
        y_names=suite.methods,
    )


def profile(suite: Suite, palette: Palette, split: str) -> Chart:
    """The share of all cases with an error up to each threshold."""
    panels = []
    for title, family in _families(suite, split):
        drawn = []
        for method in reversed(suite.methods):
            cases = suite.part(split, method, family)["error"].fill_null(np.inf).to_numpy()
            share = (cases[:, None] <= THRESHOLDS[None]).mean(axis=0)  # [T]
            drawn.append(Series(method, palette[method], THRESHOLDS, share, kind="step"))
        panels.append(Panel(title, drawn))
    return Chart(
        slug=f"suite-profile-{split or 'all'}",
        title=f"Performance profiles, {SPLITS[split]}",
        caption="Share of all cases with a normalised error of at most the threshold. What was refused, diverged or is "
        f"missing never arrives. The true value is the {TRUTHS[suite.truth]}. Higher is better.",
        panels=panels,
        legend=legend(suite.methods, palette),
        x_label="normalised error",
        y_label="share of cases",
        x_log=True,
        x_range=(float(THRESHOLDS[0]), float(THRESHOLDS[-1])),
        y_range=(-0.02, 1.02),
    )


def seconds(suite: Suite, palette: Palette) -> Chart:
    """What accuracy costs: one point per method, a panel per split."""
    lines = {split: [suite.line(method, split) for method in suite.methods] for split in suite.splits}
    shown = [line for own in lines.values() for line in own if _has_both(line)]
    reach = error_range([np.array([max(FLOOR, end) for end in line.iqm]) for line in shown])
    panels = []
    for split, own in lines.items():
        drawn = [_point(line, palette) for line in own if _has_both(line)]
        panels.append(Panel(SPLITS[split], drawn, note="no seconds were kept"))
    took = [line.seconds for line in shown] or [1.0]
    return Chart(
        slug="suite-seconds",
        title="Accuracy against seconds",
        caption="IQM of the normalised error over the answered cases, with 95 % bootstrap intervals over logs, against "
        "the median seconds that a log took with all of its policies. Down and to the left is better. The true value "
        f"is the {TRUTHS[suite.truth]}. An arrow at the upper edge: off the scale.",
        panels=panels,
        legend=legend(suite.methods, palette, marker=True),
        x_label="seconds per log",
        y_label="normalised error",
        x_log=True,
        y_log=True,
        x_range=(min(took) / 1.6, max(took) * 1.6),
        y_range=reach,
    )


def _has_both(line: Line) -> bool:
    return bool(np.isfinite(line.iqm.value) and line.seconds > 0)


def _point(line: Line, palette: Palette) -> Series:
    y, low, high = (np.array([max(FLOOR, end)]) for end in line.iqm)
    answered = f"{line.counts['answered'] / line.cases:.0%} of the cases answered"
    words = [f"{line.method}: {line.iqm.value:.3g} in {line.seconds:.3g} s, {answered}"]
    return Series(line.method, palette[line.method], np.array([line.seconds]), y, low, high, "points", words=words)
