"""Figures as data: what is drawn, apart from how. Paper and page draw the same panels, so they cannot disagree."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["line", "step", "faint", "points", "dots"]
METHOD_COLOURS = (1, 2, 3, 4, 5, 6, 8)  # of the page's palette; 7 is its grey, kept for the baselines
DASHES = ("solid", "dash", "dashdot", "dot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "cross", "x")
GREY, INK = 7, 0
LONGEST = 34  # letters of a name in a figure


class Style(NamedTuple):
    colour: int  # 1 … 8 of the palette, 0 for the ink of the text
    dash: str = "solid"
    symbol: str = "circle"


class Palette:
    """One style per method, the same in every figure: baselines grey and broken, the others in the order given."""

    def __init__(self, methods: Sequence[str], baselines: Sequence[str] = ()):
        learned = [method for method in methods if method not in baselines]
        turns = len(METHOD_COLOURS)
        self._styles = {
            method: Style(METHOD_COLOURS[i % turns], DASHES[i // turns % len(DASHES)], SYMBOLS[i % len(SYMBOLS)])
            for i, method in enumerate(learned)
        }
        for i, method in enumerate(baselines):
            self._styles[method] = Style(GREY, DASHES[1 + 2 * i % 3], SYMBOLS[1 + i % 2])

    def __getitem__(self, method: str) -> Style:
        return self._styles[method]


@dataclass(frozen=True)
class Series:
    """Points of one panel. `low` and `high` are a band (lines) or error bars (points).

    group   the legend entry it belongs to
    kind    line · step · faint (thin, no band) · points (markers with bars, joined) · dots (markers alone)
    Values that are not finite are not drawn, but points at infinity become arrows at the panel's edge.
    """

    group: str
    style: Style
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    kind: Kind = "line"


class Mark(NamedTuple):
    """A straight line across a panel: a truth, or a method that has no curve. At infinity: a word that it diverged."""

    group: str
    style: Style
    value: float
    axis: Literal["x", "y"] = "y"  # the axis on which the value lies


@dataclass(frozen=True)
class Panel:
    title: str
    series: list[Series] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    x_range: tuple[float, float] | None = None  # None: the chart's, or what the data needs
    y_range: tuple[float, float] | None = None
    note: str = ""  # why there is nothing to show, if there is nothing


@dataclass(frozen=True)
class Entry:
    """A line of the legend."""

    group: str
    style: Style
    marker: bool = False


@dataclass(frozen=True)
class Chart:
    """One figure of several panels with one legend."""

    slug: str
    title: str
    caption: str
    panels: list[Panel]
    legend: list[Entry]
    x_label: str
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_names: Sequence[str] | None = None  # categories at 0, 1, 2, …
    y_names: Sequence[str] | None = None  # categories at 0, 1, 2, … from the top

    def __post_init__(self) -> None:
        if self.y_range is None:
            object.__setattr__(self, "panels", [_edged(panel, self.y_log) for panel in self.panels])

    @property
    def drawn(self) -> bool:
        return any(panel.series for panel in self.panels)


def _edged(panel: Panel, log: bool) -> Panel:
    """A band without an upper end goes to the edge of its panel: one that lies where all that is finite is seen."""
    ends = [end for series in panel.series for end in (series.low, series.high) if end is not None]
    if panel.y_range is not None or not any(np.isinf(end).any() for end in ends):
        return panel
    seen = np.concatenate([*(series.y for series in panel.series), *ends])
    seen = seen[np.isfinite(seen) & (seen > 0.0 if log else True)]
    if not len(seen):
        return panel
    low, high = float(seen.min()), float(seen.max())
    margin = 0.05 * (high - low) or 0.5
    return replace(panel, y_range=(low / 1.25, 1.25 * high) if log else (low - margin, high + margin))


def joined(lines: Sequence[Series]) -> Series:
    """Faint lines of one group as a single one with breaks, which is drawn many times faster."""
    gap = np.array([np.nan])
    x = np.concatenate([part for line in lines for part in (line.x.astype(float), gap)])
    y = np.concatenate([part for line in lines for part in (line.y.astype(float), gap)])
    return Series(lines[0].group, lines[0].style, x, y, kind="faint")


def error_range(values: Sequence[np.ndarray], floor: float = 2e-3, ceiling: float = 30.0) -> tuple[float, float]:
    """A logarithmic range that shows the errors and is not ruled by the smallest dip or by what diverged."""
    flat = np.concatenate([np.ravel(v) for v in values]) if len(values) else np.array([])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    if not len(flat):
        return 0.1, 1.0
    low, high = max(floor, 0.8 * float(flat.min())), min(ceiling, 1.25 * float(flat.max()))
    return min(low, ceiling / 10), max(high, 2 * min(low, ceiling / 10))


def slugs(names: Sequence[str]) -> dict[str, str]:
    """Names that can stand in a file's name, each different, whatever the names are."""
    made: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "unnamed"
        taken, number = set(made.values()), 2
        slug = stem
        while slug in taken:
            slug, number = f"{stem}-{number}", number + 1
        made[name] = slug
    return made


# --- words and ticks -----------------------------------------------------------------------------------------------


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and where those are few also 2 and 5, or every digit, times them."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 3:
            break
    return inside[:: 1 + len(inside) // 6]


def short_number(value: float) -> str:
    """100K rather than 100000, 0.05 rather than 5×10⁻²."""
    if value and (abs(value) >= 1e9 or abs(value) < 1e-4):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    for size, letter in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= 10 * size or (abs(value) >= size and letter == "M"):
            return f"{value / size:g}{letter}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")


def one_line(text: str) -> str:
    """What cannot be printed is left out, so that no name moves the words beside it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shown(text: str, longest: int = LONGEST) -> str:
    """A name as a figure shows it: in one line, and cut in the middle where it is too long."""
    line = one_line(text)
    return line if len(line) <= longest else f"{line[: longest // 2]}…{line[-(longest // 2 - 1) :]}"
