"""What stands around a picture: its title, the switches of its legend, a description, the numbers behind it."""

from collections.abc import Sequence

from ropeval.report.chart import Chart, Entry
from ropeval.report.escape import escape
from ropeval.report.typeset import to_html

SIGNS = {
    "circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲", "hexagon": "⬢", "cross": "✚", "x": "✖",
    "line-ns": "┆",
}  # fmt: skip


def figure_html(chart: Chart, place: int, height: int) -> str:
    """Around the picture number `place` of the page, which the script draws into it.

    The title of a panel that stands alone is said here; elsewhere it is above the panel, and a heading says the rest.
    """
    caption = f"<figcaption>{escape(chart.caption)}</figcaption>" if chart.caption else ""
    title = (
        f'<p class="title">{escape(chart.title)}</p>'
        if [panel.title for panel in chart.panels] == [chart.title]
        else ""
    )
    return (
        f'<figure>{title}{legend_html(chart.legend)}<div class="plot" id="plot-{place}" role="group" '
        f'aria-label="{escape(chart.alt or _in_words(chart))}" tabindex="0" style="min-height:{height}px"></div>'
        f'<output class="reading" for="plot-{place}"></output>{caption}{numbers_html(chart)}</figure>'
    )


def numbers_html(chart: Chart) -> str:
    """The table behind a picture, folded away."""
    return f"<details><summary>The numbers behind it</summary>{to_html(chart.table)}</details>" if chart.table else ""


def _in_words(chart: Chart) -> str:
    named = ", ".join(entry.label or entry.group for entry in chart.legend)
    return f"{chart.title}: {len(chart.panels)} panels, {chart.y_label or chart.x_label}; {named}. {chart.caption}"


def legend_html(entries: Sequence[Entry]) -> str:
    """The switches of some groups. They are a legend, too: whoever uses a keyboard can reach them."""
    if not entries:
        return ""
    return f'<fieldset class="legend"><legend>Shown</legend>{"".join(map(_switch, entries))}</fieldset>'


def _switch(entry: Entry) -> str:
    checked = " checked" if entry.shown else ""
    return (
        f'<label><input type="checkbox"{checked} data-group="{escape(entry.group)}">'
        f'<span class="swatch" style="color:var(--{entry.style.colour})" aria-hidden="true">'
        f"{SIGNS.get(entry.style.symbol, '●')}</span>{escape(entry.label or entry.group)}</label>"
    )
