"""Pictures of a run: how the estimates and the features moved while training."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.evaluation.rank import Truth
from ropeval.evaluation.result import Estimate
from ropeval.files import write_atomically

MAX_POLICIES = 12  # beyond it the picture would be a tapestry
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)  # told apart by colour-blind eyes, too


def draw_curves(results: Sequence[Estimate], path: Path, truth: Truth | None = None) -> None:
    """One panel per policy: each learned method's estimate over its training, baselines and truth as lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    policies = list(dict.fromkeys(r.policy for r in results))[:MAX_POLICIES]
    learned = list(dict.fromkeys(r.method for r in results if r.curves))
    columns = min(3, math.ceil(math.sqrt(len(policies))))
    rows = -(-len(policies) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.4 * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[len(policies) :]:
        axis.set_visible(False)
    for axis, policy in zip(axes, policies, strict=False):
        _draw_policy(axis, [r for r in results if r.policy == policy], learned, (truth or {}).get(policy))
        axis.set_title(_plain(policy), fontsize=10)
        axis.set_xlabel("training step of q")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("estimated value")
    handles = {label: h for a in axes for h, label in zip(*a.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=130, format=path.suffix[1:]))


def _draw_policy(axis: Any, results: Sequence[Estimate], learned: list[str], true: float | None) -> None:
    greys = iter(("0.45", "0.65", "0.8"))
    for result in results:
        points = [row for row in result.curves if row["metric"] == "estimate"]
        if not points:
            if result.value is not None and not result.curves:
                axis.axhline(result.value, color=next(greys, "0.8"), ls=":", lw=1.5, label=_plain(result.method))
            continue
        colour = COLOURS[learned.index(result.method) % len(COLOURS)]
        members = sorted({row["member"] for row in points} - set(result.diverged))
        curves = [[(row["step"], row["value"]) for row in points if row["member"] == m] for m in members]
        for curve in curves:
            axis.plot(*zip(*curve, strict=True), color=colour, lw=0.6, alpha=0.35)
        if curves:
            steps, mean = [s for s, _ in curves[0]], np.mean([[v for _, v in c] for c in curves], axis=0)
            axis.plot(steps, mean, color=colour, lw=2, label=_plain(result.method))
    if true is not None:
        axis.axhline(true, color="black", lw=1.5, ls="--", label="true value")


def _plain(text: str) -> str:
    """Names come from files: a dollar sign in one must not be read as mathematics."""
    return text.replace("$", r"\$")
