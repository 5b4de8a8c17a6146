"""A log as one page: returns, lengths, rewards over time, the use of actions, and where the episodes have been."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.problem import normaliser
from ropeval.data.quality import Ranges, Summary
from ropeval.report.chart import Chart, Panel, Series
from ropeval.report.html import Note, Page
from ropeval.report.labels import number, shown
from ropeval.report.log_summary import columns_tables, facts_table
from ropeval.report.palette import Style
from ropeval.report.table import Table, Value

Floats = NDArray[np.float64]
BINS = 30  # of a histogram
TIMES = 200  # points of a curve over time
POINTS = 1_500  # of a map
MOST_ACTIONS = 12  # columns of continuous actions with a histogram each
ONE, TWO = Style("c1"), Style("c2")


def log_page(dataset: Dataset, summary: Summary) -> Page:
    page = Page(f"What does {shown(dataset.name)} hold?", _lead(summary), [f"SHA-256 {dataset.sha256[:12]}…"])
    section = page.section("Facts")
    for sentence in (*dataset.notices, *summary.warnings):
        section.note(Note("warning" if sentence in summary.warnings else "note", sentence))
    section.table(facts_table(summary, dataset.name), row_headers=True)
    page.section("Episodes", "Every episode counts once.").panels(_episodes(summary))
    page.section(
        "Rewards over time",
        "The mean reward at every step of an episode, over the episodes that last so long, and how many of them do.",
    ).panels(_over_time(dataset))
    page.section("Actions", "What was done, over all steps. Of what is rare the log says little.").panels(
        _actions(dataset, summary)
    )
    page.section(
        "Coverage",
        "Where the episodes have been: states on the two axes along which the log varies most, initial ones in the "
        "second colour. A policy that goes elsewhere cannot be judged from this log.",
    ).panels(_map(dataset))
    columns = page.section("Columns")
    for table in columns_tables(summary):
        columns.table(table)
    return page


def _lead(summary: Summary) -> str:
    returns = summary.returns
    return (
        f"{summary.steps:,} steps in {summary.episodes:,} episodes, which earned {number(float(returns.mean()))} on "
        f"average ({number(float(returns.min()))} to {number(float(returns.max()))})."
    )


def _chart(slug: str, title: str, panels: Sequence[Panel], x_label: str = "", y_label: str = "", **more: Any) -> Chart:
    return Chart(slug, title, "", list(panels), [], x_label=x_label, y_label=y_label, **more)


def _episodes(summary: Summary) -> Chart:
    drawn = {"undiscounted return": summary.returns, "number of steps": summary.lengths.astype(np.float64)}
    panels = [_histogram(name, values) for name, values in drawn.items()]
    return _chart("episodes", "Episodes", panels, y_label="episodes", table=_counts(drawn))


def _histogram(name: str, values: Floats) -> Panel:
    """An outline of bars."""
    counts, edges = np.histogram(values, min(BINS, max(1, len(np.unique(values)))))
    x = np.repeat(edges, 2)
    y = np.concatenate([[0], np.repeat(counts, 2), [0]]).astype(np.float64)
    alt = (
        f"Histogram of {name}: from {number(float(values.min()))} to {number(float(values.max()))}, median "
        f"{number(float(np.median(values)))}."
    )
    return Panel(name, [Series(name, ONE, x, y)], y_range=(0.0, 1.05 * float(counts.max())), alt=alt)


def _counts(drawn: dict[str, Floats]) -> Table:
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    rows: list[list[Value]] = [
        [name, *(float(v) for v in np.quantile(values, levels))] for name, values in drawn.items()
    ]
    return Table(["", "least", "a quarter below", "median", "a quarter above", "most"], rows)


def _over_time(dataset: Dataset) -> Chart:
    lengths = np.diff(dataset.starts)
    time = np.arange(len(dataset)) - np.repeat(dataset.starts[:-1], lengths)  # [N]
    running = np.bincount(time).astype(np.float64)  # [T] episodes that last so long
    means = np.bincount(time, dataset.rewards.astype(np.float64)) / running
    at = np.unique(np.linspace(0, len(means) - 1, TIMES).astype(np.int64))
    told = f"The mean reward is {number(float(means[0]))} at the first step and {number(float(means[-1]))} at the last."
    left = f"{running[0]:,.0f} episodes begin, {running[-1]:,.0f} have {len(running):,} steps."
    panels = [
        Panel("mean reward", [Series("reward", ONE, at.astype(np.float64), means[at])], alt=told),
        Panel("episodes that go on", [Series("episodes", TWO, at.astype(np.float64), running[at])], alt=left),
    ]
    return _chart("time", "Rewards over time", panels, x_label="step of the episode")


def _actions(dataset: Dataset, summary: Summary) -> Chart:
    labels = summary.labels[1]
    if isinstance(summary.actions, Ranges):
        every = max(1, len(dataset) // 100_000)
        columns = np.asarray(dataset.actions[::every], np.float64).T
        panels = [_histogram(name, values) for name, values in zip(labels, columns[:MOST_ACTIONS], strict=False)]
        return _chart("actions", "Actions", panels, y_label="steps")
    shares = summary.actions / max(1, summary.steps)
    places = np.arange(len(shares), dtype=np.float64)
    words = [f"{name}: {share:.1%}" for name, share in zip(labels, shares, strict=True)]
    series = Series("actions", ONE, shares, places, kind="dots", words=words)
    alt = f"Shares of the actions: {', '.join(words[:10])}."
    table = Table(["action", "steps", "share"], [[n, int(c), f"{c / max(1, summary.steps):.1%}"]
                                                for n, c in zip(labels, summary.actions, strict=True)])  # fmt: skip
    return _chart(
        "actions", "Actions", [Panel("share of the steps", [series], alt=alt)], y_names=labels, x_range=(0.0, 1.0),
        table=table,
    )  # fmt: skip


def _map(dataset: Dataset) -> Chart:
    """States and initial states on the main axes of a sample."""
    mean, std = normaliser(dataset.observations)
    rows = np.arange(0, len(dataset), max(1, len(dataset) // POINTS))
    first = dataset.initial_observations[:: max(1, dataset.num_episodes // POINTS)]
    states, initial = ((np.asarray(s, np.float64) - mean) / std for s in (dataset.observations[rows], first))
    centre = states.mean(axis=0)
    _, sizes, axes = np.linalg.svd(states - centre, full_matrices=False)
    share = sizes**2 / max(float((sizes**2).sum()), 1e-12)
    drawn = [_on_axes((part - centre) @ axes[:2].T) for part in (states, initial)]
    series = [
        Series(name, style, *points, kind="cloud", label=name)
        for name, style, points in zip(("states", "initial states"), (ONE, TWO), drawn, strict=True)
    ]
    names = [f"axis {i} ({part:.0%})" for i, part in enumerate(share[:2], start=1)]
    alt = f"{len(rows):,} logged states and {len(initial):,} initial ones on the two main axes of the log."
    return _chart("map", "Map of the states", [Panel("states", series, alt=alt)], *names)


def _on_axes(points: Floats) -> tuple[Floats, Floats]:
    return points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
