"""Figures as data: what is drawn, apart from how. Paper and page draw the same panels, so they cannot disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ropeval.report.labels import shown
from ropeval.report.palette import Style
from ropeval.report.table import Table

Kind = Literal["line", "step", "faint", "points", "dots", "cloud"]
Range = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Points of one panel. `low` and `high` are a band (lines) or error bars (points).

    group   the legend entry it belongs to
    kind    line · step · faint (thin, no band) · points (markers with bars, joined) · dots (markers alone) ·
            cloud (many small ones)
    label   what it is, if it is not the group
    words   about each point, for whoever points at it
    Values that are not finite are not drawn, but points at infinity become arrows at the panel's edge. Bars lie along
    the axis of the values: the horizontal one, where the vertical one has names.
    """

    group: str
    style: Style
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    kind: Kind = "line"
    label: str = ""
    words: Sequence[str] = ()


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
    x_range: Range | None = None  # None: the chart's, or what the data needs
    y_range: Range | None = None
    note: str = ""  # why there is nothing to show, if there is nothing
    alt: str = ""  # what a reader who does not see it must know, where it stands alone
    remark: str = ""  # said in its corner

    @property
    def corner(self) -> str:
        """The remark, and who is nowhere on the scale, but not to be passed over."""
        lost = ", ".join(shown(mark.group, 20) for mark in self.marks if not np.isfinite(mark.value))
        return "; ".join(filter(None, [f"▲ diverged: {lost}" if lost else "", self.remark]))


@dataclass(frozen=True)
class Entry:
    """A line of the legend; on the page, the switch that shows and hides a group everywhere."""

    group: str
    style: Style
    marker: bool = False
    label: str = ""  # if it is not the group
    shown: bool = True  # at first

    def series(
        self, x: np.ndarray, y: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None, **more: Any
    ) -> Series:
        """What is drawn in its name."""
        return Series(self.group, self.style, x, y, low, high, **{"label": self.label, **more})

    def mark(self, value: float, axis: Literal["x", "y"] = "y") -> Mark:
        return Mark(self.group, self.style, value, axis)


@dataclass(frozen=True)
class Chart:
    """One figure of several panels with one legend."""

    slug: str
    title: str
    caption: str
    panels: list[Panel]
    legend: list[Entry]
    x_label: str = ""
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False
    x_range: Range | None = None
    y_range: Range | None = None
    x_names: Sequence[str] | None = None  # categories at 0, 1, 2, …
    y_names: Sequence[str] | None = None  # categories at 0, 1, 2, … from the top
    y_percent: bool = False
    same_x: bool = False  # one scale for all panels, with room for whatever is shown; as if x_range were known
    columns: int | None = None  # of panels; None: as many as there is room for
    alt: str = ""  # what a reader who does not see it must know; made from the rest if empty
    table: Table | None = None  # the numbers behind it

    def __post_init__(self) -> None:
        if self.y_range is None and self.y_names is None:
            object.__setattr__(self, "panels", [_edged(panel, self.y_log) for panel in self.panels])

    @property
    def drawn(self) -> bool:
        return any(panel.series for panel in self.panels)

    @property
    def shares_x(self) -> bool:
        """Whether all panels have one horizontal scale, so that the lowest can speak for all."""
        return self.same_x or (self.x_range is not None and all(panel.x_range is None for panel in self.panels))

    @property
    def shares_y(self) -> bool:
        fixed = self.y_range is not None and all(panel.y_range is None for panel in self.panels)
        return fixed or self.y_names is not None

    def limits(self, panel: Panel) -> tuple[Range | None, Range | None]:
        """Of a panel, across and up, where they are known."""
        return panel.x_range or self.x_range, panel.y_range or self.y_range

    def apart(self) -> "list[Chart]":
        """Every panel as a chart of its own, without what all of them share."""
        bare = replace(self, caption="", legend=[], table=None)
        return [replace(bare, title=panel.title, panels=[panel], alt=panel.alt) for panel in self.panels]


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


def error_range(values: Sequence[np.ndarray], floor: float = 2e-3, ceiling: float = 30.0) -> Range:
    """A logarithmic range that shows the errors and is not ruled by the smallest dip or by what diverged."""
    flat = np.concatenate([np.ravel(v) for v in values]) if len(values) else np.array([])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    if not len(flat):
        return 0.1, 1.0
    low, high = max(floor, 0.8 * float(flat.min())), min(ceiling, 1.25 * float(flat.max()))
    return min(low, ceiling / 10), max(high, 2 * min(low, ceiling / 10))
