"""The paper's gridworld pictures: every cell cut into four triangles, one for each action."""

from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from ropeval.files import write_atomically
from ropeval.tabular.gridworld import Gridworld
from ropeval.tabular.mdp import Array, IntArray
from ropeval.tabular.study import Study

TITLES = {"rope": "ROPE", "mico": "on-policy MICo", "psm": "policy similarity", "random": "random policy"}
NUMBERS_UP_TO = 8  # cells on a side; beyond, the numbers would not be legible
ALONE = (0.93, 0.93, 0.93)  # grey: a pair that shares its group with nobody

# Each action's triangle within the unit cell, and where its number goes; up, right, down, left.
CENTRE = (0.5, 0.5)
TRIANGLES = (
    ((0, 1), (1, 1), CENTRE),
    ((1, 1), (1, 0), CENTRE),
    ((1, 0), (0, 0), CENTRE),
    ((0, 0), (0, 1), CENTRE),
)
NUMBER_AT = ((0.5, 0.82), (0.80, 0.5), (0.5, 0.18), (0.20, 0.5))


def draw_gridworld(grid: Gridworld, result: Study, out: Path, metrics: list[str]) -> list[Path]:
    """One picture for q and one for each metric, and all of them side by side; PNG and SVG."""
    panels = ["q", *metrics]
    zoom = max(1.0, min(grid.size, NUMBERS_UP_TO) / 3.5)  # room for the numbers of larger grids
    paths = []
    for name in panels:
        figure = Figure(figsize=(4.2 * zoom, 4.6 * zoom), layout="constrained")
        _panel(figure.subplots(), grid, result, name, zoom)
        paths += save(figure, out / f"gridworld-{name}")
    if len(panels) > 2:
        figure = Figure(figsize=(3.5 * zoom * len(panels), 3.9 * zoom), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _panel(axes, grid, result, name, zoom)
        paths += save(figure, out / "gridworld-all")
    return paths


def _panel(axes: Axes, grid: Gridworld, result: Study, name: str, zoom: float) -> None:
    q = result.q.reshape(-1)[grid.mdp.live_pairs]  # [n]
    if name == "q":
        labels, title = result.q_labels, "action values $q^{\\pi_e}$"
        note = f"{result.q_count} values"
        numbers = [f"{0.0 if abs(value) < 5e-3 else value:.2f}".replace("-", "−") for value in q]
    else:
        groups = result.groups[name]
        labels, title = groups.labels, f"groups of {TITLES[name]}"
        verdict = "as q" if groups.aligned else f"{groups.merged} merged, {groups.split} split"
        note = f"{groups.count} groups: {verdict}"
        numbers = [str(label + 1) for label in labels]
    _triangles(axes, grid, labels, numbers, zoom)
    axes.set_title(f"{title}\n{note}", fontsize=11)


def _triangles(axes: Axes, grid: Gridworld, labels: IntArray, numbers: list[str], zoom: float) -> None:
    colours = palette(labels)
    text = grid.size <= NUMBERS_UP_TO
    fontsize = 30.0 * zoom / grid.size * (0.75 if max(map(len, numbers)) > 3 else 1.0)
    thin = min(1.0, 6.0 / grid.size)
    state, action = np.divmod(grid.mdp.live_pairs, 4)
    corner = np.stack([state % grid.size, state // grid.size], axis=1)  # [n, 2] of each pair's cell
    triangles = corner[:, None, :] + np.array(TRIANGLES)[action]  # [n, 3, 2]
    axes.add_collection(
        PolyCollection(list(triangles), facecolors=colours[labels], edgecolors="white", linewidths=0.8 * thin)
    )
    if text:
        for (x, y), number in zip(corner + np.array(NUMBER_AT)[action], numbers, strict=True):
            axes.text(x, y, number, ha="center", va="center", fontsize=fontsize, color="0.1")
    lines = np.arange(grid.size + 1)
    axes.hlines(lines, 0, grid.size, color="0.25", linewidth=1.2 * thin)
    axes.vlines(lines, 0, grid.size, color="0.25", linewidth=1.2 * thin)
    axes.text(0.5, -0.04, "start", ha="center", va="top", fontsize=9, color="0.3")
    if (np.bincount(labels) == 1).any():
        axes.text(grid.size, -0.04, "grey: a group of one", ha="right", va="top", fontsize=9, color="0.3")
    axes.set(xlim=(-0.03, grid.size + 0.03), ylim=(-0.22 * grid.size / 3, grid.size + 0.03), aspect="equal")
    axes.axis("off")


def palette(labels: IntArray) -> Array:
    """One colour for each group, light enough to read numbers on; groups of one are grey. [K, 3]"""
    sizes = np.bincount(labels)
    shared = np.flatnonzero(sizes > 1)
    colours = np.tile(np.array(ALONE), (len(sizes), 1))
    hues = mpl.colormaps["turbo"](np.linspace(0.06, 0.94, max(len(shared), 1)))[:, :3]
    colours[shared] = 0.45 + 0.55 * hues[: len(shared)]
    return colours


def save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as PNG and SVG, each whole or not there; the same input makes the same bytes."""
    unsaid = {".png": "Software", ".svg": "Date"}  # what would differ from one writing to the next
    paths = {stem.with_name(stem.name + suffix): {name: None} for suffix, name in unsaid.items()}
    with mpl.rc_context({"svg.hashsalt": "ropeval", "svg.fonttype": "path"}):
        for path, about in paths.items():
            write_atomically(path, partial(figure.savefig, dpi=110, metadata=about))
    return list(paths)
