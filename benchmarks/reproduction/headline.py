"""headline.png: every run of FQE and ROPE on the D4RL datasets, two numbers that need no learning, both truths."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reproduction.choices import outcome
from benchmarks.reproduction.evidence import Evidence

from ropeval.bench.results.scores import Floats
from ropeval.report.draw_paper import save
from ropeval.report.palette import LIGHT

FQE, ROPE, INK, GREY, MUTED, GRID = (LIGHT[name] for name in ("c1", "c2", "ink", "c7", "muted", "grid"))
WIDTH, ROW, TOP, BOTTOM = 9.2, 0.54, 1.88, 0.92  # inches
EDGES = (-0.55, 1.62)  # of the scale: beyond, an arrow
LANES = {"fqe": -0.3, "rope+fqe": 0.14}  # down from the row's middle
BAR = 0.42  # of a trivial estimate, to either side of the row's middle
SPREAD = 0.2  # of ROPE's settings, to either side of its lane


def draw_headline(evidence: Evidence, folder: Path) -> list[Path]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tasks = evidence.ran(evidence.d4rl)
    height = TOP + BOTTOM + ROW * len(tasks)
    with rc_context({"font.size": 9.5, "svg.hashsalt": "headline"}):
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        left = 2.12 / WIDTH
        axis = figure.add_axes((left, BOTTOM / height, 1 - left - 1.22 / WIDTH, ROW * len(tasks) / height))
        for place, task in enumerate(tasks):
            _row(axis, evidence, task, place)
        _frame(axis, tasks)
        _words(figure, evidence, height)
        _legend(figure, height)
        return [save(figure, folder / f"headline.{kind}", evidence.source, dpi=150) for kind in ("png", "svg")]


def _row(axis: Any, evidence: Evidence, task: str, place: int) -> None:
    summary = evidence.summary
    truth = summary.truths["mean_reward", task]

    def scaled(values: Any) -> Floats:
        return (np.asarray(values, float) - truth.random) / (truth.value - truth.random)

    if place % 2:
        axis.axhspan(place - 0.5, place + 0.5, color="#f5f6f8", lw=0, zorder=0)
    bars: dict[str, dict[str, Any]] = {
        "mean-reward": {"color": INK, "lw": 2.6},
        "mean-return": {"color": GREY, "lw": 2.0, "ls": (0, (1.1, 0.9))},
    }
    for method, style in bars.items():
        runs = summary.runs.get((task, method))
        if runs is not None:
            at = float(scaled(runs.estimates[runs.shown][0]))
            axis.plot([at, at], [place - BAR, place + BAR], solid_capstyle="butt", zorder=2, **style)
    discounted = float(scaled(summary.truths["discounted", task].value))
    axis.plot([discounted], [place], "D", ms=7.5, mfc="white", mec=INK, mew=1.4, zorder=2.5)
    for method, colour in (("fqe", FQE), ("rope+fqe", ROPE)):
        runs = summary.runs.get((task, method))
        lane = place + LANES[method]
        if runs is None:
            axis.text(EDGES[1] + 0.03, lane, "not run", va="center", size=8, color=colour, clip_on=False)
            continue
        best = evidence.pick("mean_reward", task, method, "best")
        lost = beyond = count = 0
        for number, hyper in enumerate(runs.settings):
            values = scaled(np.where(runs.diverged[hyper], np.nan, runs.estimates[hyper]))
            inside = np.isfinite(values) & (values >= EDGES[0]) & (values <= EDGES[1])
            lost, count = lost + int(runs.diverged[hyper].sum()), count + len(values)
            beyond += int((~inside & ~runs.diverged[hyper]).sum())
            away = SPREAD * (2 * number / max(1, len(runs.settings) - 1) - 1) if len(runs.settings) > 1 else 0.0
            chosen = len(runs.settings) == 1 or (best is not None and hyper == best.hyper)
            look = (
                {"ms": 5.0, "mec": "white", "mew": 0.5, "zorder": 4} if chosen else {"ms": 3.0, "mew": 0, "alpha": 0.4}
            )
            axis.plot(
                values[inside], np.full(int(inside.sum()), lane + away), "o", color=colour, **{"zorder": 3} | look
            )
        said = [f"{number} of {count} {what}" for number, what in ((lost, "diverged"), (beyond, "off scale")) if number]
        axis.text(
            EDGES[1] + 0.03, lane, "\n".join(said), va="center", size=8, color=colour, clip_on=False, linespacing=1
        )


def _frame(axis: Any, tasks: list[str]) -> None:
    axis.set_xlim(*EDGES)
    axis.set_ylim(len(tasks) - 0.5, -0.5)
    axis.axvline(1.0, color=INK, lw=1.3, zorder=1.5)
    axis.axvline(0.0, color=INK, lw=0.8, ls=(0, (4, 3)), zorder=1)
    axis.set_yticks(range(len(tasks)), [task.removeprefix("d4rl/") for task in tasks])
    axis.set_xticks([-0.5, 0, 0.5, 1, 1.5], ["−0.5", "0", "0.5", "1", "1.5"])
    for at, words, weight in ((0, "random policy", "normal"), (1, "true value, mean reward/(1−γ)", "bold")):
        axis.annotate(words, (at, -0.5), (0, 4), textcoords="offset points", ha="center", size=9, weight=weight)
    axis.grid(axis="x", color=GRID, lw=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    bodies = [task.removeprefix("d4rl/").split("-")[0] for task in tasks]
    for place in range(1, len(tasks)):
        if bodies[place] != bodies[place - 1]:
            axis.axhline(place - 0.5, color=MUTED, lw=0.8)


def finding(evidence: Evidence) -> tuple[str, str]:
    """The title and the lines below it, counted from the rows."""
    both = [task for task in evidence.d4rl if (task, "rope+fqe") in evidence.summary.runs]
    smaller, said = {}, {}
    for how in ("median", "best"):
        own, trivial = (
            [evidence.pick("mean_reward", task, method, how) for task in both] for method in ("rope+fqe", "mean-reward")
        )
        pairs = list(zip(own, trivial, strict=True))
        smaller[how] = sum(1 for one, other in pairs if one and other and other.value < one.value)
        found = [outcome(*pair) for pair in pairs]
        said[how] = f"better on {found.count('better')}, worse on {found.count('worse')}"
        said[how] += f" ({found.count('undecided')} undecided)"
    title = (
        "The log's mean reward, which knows nothing of the policy, has a smaller error than ROPE "
        f"on {smaller['median']} of {len(both)} datasets"
    )
    below = (
        f"Error against mean reward/(1−γ), which the paper's code computes. At the median of its settings ROPE is "
        f"{said['median']}; at its best setting, which takes the true value to find, {said['best']}."
    )
    return title, below


def _words(figure: Any, evidence: Evidence, height: float) -> None:
    title, below = finding(evidence)
    for place, line in enumerate(textwrap.wrap(title, 80)):
        figure.text(0.012, 1 - (0.12 + 0.24 * place) / height, line, size=12.5, weight="bold", va="top")
    below = "\n".join(textwrap.wrap(below, 130))
    figure.text(0.012, 1 - 0.66 / height, below, size=9, color=MUTED, va="top", linespacing=1.35)
    label = "estimated value of πₑ; 0 is the mean reward/(1−γ) of the random policy, 1 that of πₑ"
    figure.text(0.5, (BOTTOM - 0.3) / height, label, ha="center", va="top", size=9)
    for place, line in enumerate(textwrap.wrap(evidence.source, 150)):
        figure.text(0.012, (0.33 - 0.16 * place) / height, line, size=7.5, color=MUTED, va="top")


def _legend(figure: Any, height: float) -> None:
    from matplotlib.lines import Line2D

    bar: dict[str, Any] = {"ls": "", "marker": "|", "ms": 11}
    dot: dict[str, Any] = {"ls": "", "marker": "o"}
    entries = {
        "ROPE, setting chosen with the true value": Line2D([], [], **dot, color=ROPE, ms=5.5),
        "ROPE, runs of its other settings": Line2D([], [], **dot, color=ROPE, ms=3.4, alpha=0.5),
        "FQE, every run": Line2D([], [], **dot, color=FQE, ms=5.5),
        "true value, discounted return": Line2D([], [], ls="", marker="D", ms=6.5, mfc="white", mec=INK, mew=1.4),
        "the log's mean reward/(1−γ)": Line2D([], [], **bar, mew=2.6, color=INK),
        "the log's mean discounted return": Line2D([], [], **bar, mew=2, color=GREY),
    }
    figure.legend(
        list(entries.values()), list(entries), loc="upper left", bbox_to_anchor=(0.004, 1 - 1.06 / height), ncols=3,
        frameon=False, handletextpad=0.3, columnspacing=1.5, labelspacing=0.5, fontsize=9,
    )  # fmt: skip
