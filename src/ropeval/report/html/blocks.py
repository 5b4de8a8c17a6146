"""What stands in a section: tables, figures with the numbers behind them, notes. Each turns itself into safe HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ropeval.report.html.safe import escape
from ropeval.report.table import number

SYMBOLS = {
    "circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲", "triangle-down": "▼", "star": "★",
    "cross": "✚", "x": "✖", "line-ns": "┆",
}  # fmt: skip
SEVERITIES = {"severe": "✖", "warning": "▲", "note": "●", "good": "✔"}  # sign and word: never the colour alone

FOLDED = 4  # cases of one note, beyond which they are folded away


@dataclass(frozen=True)
class Shaded:
    """A cell tinted by `share` (0 … 1), for tables that are read as pictures."""

    value: "str | float"
    share: float


Cell = str | int | float | None | Shaded


@dataclass(frozen=True)
class Table:
    """Columns of words and numbers. Numbers are set to the right, in four digits; None is a dash."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    row_headers: bool = True  # the first cell names its row
    whole: bool = False  # cells stay in one line, and the table scrolls sideways in its box where it is too wide

    def html(self) -> str:
        head = "".join(
            f'<th scope="col"{_right(self._numeric(i))}>{escape(c)}</th>' for i, c in enumerate(self.columns)
        )
        body = "".join(f"<tr>{self._row(row)}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        label = escape(self.caption or ", ".join(self.columns))
        opening = '<table class="whole">' if self.whole else "<table>"
        return (
            f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">'
            f"{opening}{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _row(self, row: Sequence[Cell]) -> str:
        cells = []
        for place, cell in enumerate(row):
            tag, scope = ("th", ' scope="row"') if place == 0 and self.row_headers else ("td", "")
            shade = (
                f' class="shaded" style="--share:{min(max(cell.share, 0.0), 1.0):.3f}"'
                if isinstance(cell, Shaded)
                else ""
            )
            cells.append(f"<{tag}{scope}{shade or _right(self._numeric(place))}>{_shown(cell)}</{tag}>")
        return "".join(cells)

    def _numeric(self, place: int) -> bool:
        cells = [row[place] for row in self.rows if place < len(row) and row[place] is not None]
        return bool(cells) and all(isinstance(c, int | float) for c in cells)


@dataclass(frozen=True)
class Series:
    """An entry of a figure's legend, which shows and hides the traces that carry its name as their `group`."""

    name: str
    colour: int = 1  # 1 … 8 of the page's palette, 0 for the ink of the text
    symbol: str = "circle"
    group: str = ""  # if it is not the name
    shown: bool = True  # at first

    @property
    def paint(self) -> str:
        """Its colour, as traces name it."""
        return f"@{self.colour}" if self.colour else "@ink"

    def html(self) -> str:
        colour = f"var(--c{self.colour})" if self.colour else "var(--ink)"
        checked = " checked" if self.shown else ""
        return (
            f'<label><input type="checkbox"{checked} data-group="{escape(self.group or self.name)}">'
            f'<span class="swatch" style="color:{colour}" aria-hidden="true">{SYMBOLS.get(self.symbol, "●")}</span>'
            f"{escape(self.name)}</label>"
        )


@dataclass(frozen=True)
class Figure:
    """A Plotly figure: traces and layout as plain dictionaries, no colours but the page's own.

    A colour is written "@1" … "@8" (the palette), "@ink", "@muted" or "@grid", with "/0.2" behind it for an opacity:
    the page puts in what suits its light or dark dress. A trace may carry `group`, the name of one of `series`. Words
    in names, texts and ticks are shown as they are; only `hovertemplate` may hold Plotly's own tags.

    alt    what a reader who does not see the picture must know
    table  the numbers behind it, folded away below
    title  above it, where several stand side by side
    """

    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    alt: str
    caption: str = ""
    table: Table | None = None
    series: Sequence[Series] = ()
    height: int = 380
    title: str = ""

    def html(self, place: int) -> str:
        legend = legend_html(self.series)
        behind = f"<details><summary>The numbers behind it</summary>{self.table.html()}</details>" if self.table else ""
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        title = f'<p class="title">{escape(self.title)}</p>' if self.title else ""
        return (
            f'<figure>{title}{legend}<div class="plot" id="plot-{place}" role="group" aria-label="{escape(self.alt)}" '
            f'tabindex="0" style="min-height:{int(self.height)}px"></div>'
            f'<output class="reading" for="plot-{place}"></output>{caption}{behind}</figure>'
        )


@dataclass(frozen=True)
class Note:
    """Something that a reader must know: how bad, the sentence, what to do about it, and whom it concerns."""

    severity: str  # severe, warning, note or good
    sentence: str
    action: str = ""
    about: Sequence[str] = ()

    def html(self) -> str:
        kind = self.severity if self.severity in SEVERITIES else "note"
        about = f'<ul class="about">{"".join(f"<li>{escape(a)}</li>" for a in self.about)}</ul>' if self.about else ""
        if len(self.about) > FOLDED:
            about = f"<details><summary>The {len(self.about)} cases</summary>{about}</details>"
        return (
            f'<div class="note {kind}"><p><span class="sign" aria-hidden="true">{SEVERITIES[kind]}</span>'
            f"<strong>{escape(self.severity)}</strong> {escape(self.sentence)}</p>"
            + (f'<p class="action">{escape(self.action)}</p>' if self.action else "")
            + f"{about}</div>"
        )


def legend_html(series: Sequence[Series]) -> str:
    """The switches of some series. They are a legend, too: whoever uses a keyboard can reach them."""
    if not series:
        return ""
    return f'<fieldset class="legend"><legend>Shown</legend>{"".join(s.html() for s in series)}</fieldset>'


def _shown(cell: Cell) -> str:
    if isinstance(cell, Shaded):
        return _shown(cell.value)
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return '<span aria-label="none">–</span>'
    return escape(number(cell) if isinstance(cell, float) else cell)


def _right(numeric: bool) -> str:
    return ' class="number"' if numeric else ""
