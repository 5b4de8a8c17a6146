"""One table, set for every reader: terminal, page, Markdown, LaTeX."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeval.report.escape import escape, latex, markdown
from ropeval.report.labels import slugs
from ropeval.report.table import Cell, Table
from ropeval.words import clean

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# --- the terminal -------------------------------------------------------------------------------------------------

SENTENCE = 24  # letters, beyond which a cell may be broken
TONES = {"": "", "dim": "dim", "severe": "red", "warning": "yellow"}


def to_terminal(table: Table) -> "RichTable":
    """Where the terminal is narrow, the first and the last column give way, and those of sentences; numbers do not."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    def words(cell: Cell) -> Text:
        style = "bold" if cell.bold else TONES[cell.tone]
        return Text.assemble((clean(cell.text), style), *((("\n" + clean(cell.below), "dim"),) if cell.below else ()))

    made = RichTable(
        title=Text(clean(table.title)) if table.title else None, title_justify="left",
        caption=Text(clean(table.caption)) if table.caption else None, caption_justify="left",
        header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False,
    )  # fmt: skip
    for place, name in enumerate(table.columns):
        longest = max((len(row[place].text) for row in table.cells()), default=0)
        gives_way = place in (0, len(table.columns) - 1) or longest > SENTENCE
        made.add_column(
            Text(clean(name)), justify="right" if table.numeric(place) else "left", no_wrap=not gives_way,
            overflow="fold", min_width=min(10, longest, len(name)) if gives_way else None,
        )  # fmt: skip
    for place, row in enumerate(table.cells()):
        if place in table.rules:
            made.add_section()
        made.add_row(*map(words, row))
    return made


# --- the page -----------------------------------------------------------------------------------------------------


def to_html(table: Table, row_headers: bool = True, whole: bool = False) -> str:
    """row_headers: the first cell names its row. whole: cells stay in one line, and a wide table scrolls in its box."""
    head = "".join(f'<th scope="col"{_right(table, i)}>{escape(c)}</th>' for i, c in enumerate(table.columns))
    body = "".join(f"<tr>{_row(table, row, row_headers)}</tr>" for row in table.cells())
    words = " ".join(filter(None, [f"{table.title}." if table.title else "", table.caption, table.source]))
    caption = f"<caption>{escape(words)}</caption>" if words else ""
    look = ' class="whole"' if whole else ""
    name = table.slug or slugs([table.title or table.caption or "table"]).popitem()[1]
    opening = f'<table data-name="{escape(name)}"{look}>'
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(words or ", ".join(table.columns))}">'
        f"{opening}{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(table: Table, row: Sequence[Cell], row_headers: bool) -> str:
    cells = []
    for place, cell in enumerate(row):
        tag, scope = ("th", ' scope="row"') if place == 0 and row_headers else ("td", "")
        look = ' class="sentence"' if tag == "td" and len(cell.text) > 2 * SENTENCE else _right(table, place)
        if cell.share is not None:
            look = f' class="shaded" style="--share:{min(max(cell.share, 0.0), 1.0):.3f}"'
        if isinstance(cell.value, float) and cell.known:
            look += f' data-value="{float(cell.value)!r}"'  # all digits, for whoever sorts, copies or keeps the table
        words = escape(cell.text) if cell.known else '<span aria-label="none">–</span>'
        words = f"<strong>{words}</strong>" if cell.bold else words
        below = f"<br><small>{escape(cell.below)}</small>" if cell.below else ""
        cells.append(f"<{tag}{scope}{look}>{words}{below}</{tag}>")
    return "".join(cells)


def _right(table: Table, column: int) -> str:
    return ' class="number"' if table.numeric(column) else ""


# --- Markdown -----------------------------------------------------------------------------------------------------


def to_markdown(table: Table, level: int = 2) -> str:
    lines = [
        [markdown(c) for c in table.columns],
        ["--:" if table.numeric(i) else ":--" for i in range(len(table.columns))],
        *([f"**{markdown(c.text)}**" if c.bold else markdown(c.text) for c in row] for row in table.cells()),
    ]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = markdown(f"{table.caption} {table.source}".strip())
    return f"{'#' * level} {markdown(table.title)}\n\n{body}\n\n{below}\n"


# --- LaTeX --------------------------------------------------------------------------------------------------------

PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage{longtable}
\usepackage{graphicx}
\setlength{\parindent}{0pt}
\setlength{\tabcolsep}{3pt}
"""


def to_latex(table: Table) -> str:
    """A longtable, which needs no package but its own and breaks over pages."""
    layout = "".join("r" if table.numeric(i) else "l" for i in range(len(table.columns)))
    head = " & ".join(latex(c) for c in table.columns) + r" \\ \hline"
    body = [
        " & ".join(rf"\textbf{{{latex(c.text)}}}" if c.bold else latex(c.text) for c in row) + r" \\"
        for row in table.cells()
    ]
    return "\n".join(
        [
            f"% {latex(table.source)}",
            rf"\begin{{longtable}}{{{layout}}}",
            rf"\caption{{\textbf{{{latex(table.title)}.}} {latex(table.caption)} {latex(table.source)}}}\\ \hline",
            head,
            rf"\endfirsthead \hline {head} \endhead \hline \endfoot",
            *body,
            r"\end{longtable}",
            "",
        ]
    )
