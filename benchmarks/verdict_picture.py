"""The reliability of verdicts as a picture: how far off the estimates with each word were, family by family."""

from collections.abc import Sequence

import numpy as np
from benchmarks.verdict_cases import Case, words

from ropeval.evaluation.verdict.rule import WORDS
from ropeval.report.chart import Chart, Entry, Mark, Panel, Series
from ropeval.report.palette import Palette, Style

THRESHOLDS = np.geomspace(1e-3, 3.0, 120)
NEAR = Style("muted", "dot")


def reliability(every: Sequence[Case], split: str) -> Chart:
    own = [case for case in every if case.split == split]
    palette = Palette(WORDS)
    families = ["all", *sorted({case.family for case in own})]
    panels = []
    for family in families:
        some = [case for case in own if family in ("all", case.family)]
        panels.append(Panel(f"{family} ({len(some)})", _lines(some, palette), [Mark("a tenth", NEAR, 0.1, "x")]))
    return Chart(
        slug=f"verdict-{split}",
        title=f"What verdicts are worth, {split} cases",
        caption="Share of the estimates called so with an error of at most the threshold, all methods together; in "
        "brackets how many estimates. Errors are shares of the range of the true values of a task's policies.",
        panels=panels,
        legend=[Entry(word, palette[word]) for word in WORDS] + [Entry("a tenth", NEAR)],
        x_label="error",
        y_label="share of estimates",
        x_log=True,
        x_range=(float(THRESHOLDS[0]), float(THRESHOLDS[-1])),
        y_range=(-0.02, 1.02),
    )


def _lines(some: Sequence[Case], palette: Palette) -> list[Series]:
    said = [words(case)[0][1] for case in some]
    found = []
    for word in WORDS:
        errors = np.array([case.error for case, one in zip(some, said, strict=True) if one == word])
        if len(errors):
            share = (errors[:, None] <= THRESHOLDS[None]).mean(axis=0)
            found.append(Series(word, palette[word], THRESHOLDS, share, kind="step"))
    return found
