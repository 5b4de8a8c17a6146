"""Tables for documents: one set of words, typeset for Markdown and for LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ropeval.report.charts import one_line


class Cell(NamedTuple):
    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Words in rows and columns. `source` says where the numbers come from and is part of every copy."""

    slug: str
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    left: int = 1  # so many columns hold words and are set to the left
    source: str = ""

    def cells(self) -> list[list[Cell]]:
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]


# --- Markdown -----------------------------------------------------------------------------------------------------

MARKDOWN_SIGNS = "\\`*_{}[]<>|#~$&"


def to_markdown(table: Table, level: int = 2) -> str:
    rule = [":--" if i < table.left else "--:" for i in range(len(table.columns))]
    lines = [
        [markdown(c) for c in table.columns],
        rule,
        *([f"**{markdown(c.text)}**" if c.bold else markdown(c.text) for c in row] for row in table.cells()),
    ]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = markdown(f"{table.caption} {table.source}".strip())
    return f"{'#' * level} {markdown(table.title)}\n\n{body}\n\n{below}\n"


def markdown(text: str) -> str:
    """Names come from files: none of their signs is markup, and none ends a line."""
    return "".join(f"\\{c}" if c in MARKDOWN_SIGNS else c for c in one_line(text))


# --- LaTeX --------------------------------------------------------------------------------------------------------

LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "[": "{[}", "]": "{]}", "*": "{*}",
    "†": r"$^\dagger$", "∞": r"$\infty$", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "–": "--",
    "…": r"\dots{}", "≤": r"$\leq$", "ρ": r"$\rho$", "π": r"$\pi$", "γ": r"$\gamma$", "β": r"$\beta$", "φ": r"$\phi$",
    "‖": r"$\|$", "≥": r"$\geq$",
}  # fmt: skip
PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage{longtable}
\usepackage{graphicx}
\setlength{\parindent}{0pt}
\setlength{\tabcolsep}{3pt}
"""


def to_latex(table: Table) -> str:
    """A longtable, which needs no package but its own and breaks over pages."""
    layout = "l" * table.left + "r" * (len(table.columns) - table.left)
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


def latex(text: str) -> str:
    """Every sign that means something to TeX is spelt out, and so is every letter that its fonts may lack.

    A bracket counts among them: behind the end of a row TeX would read it as a length.
    """
    return "".join(LATEX_SIGNS.get(c, c if c.isascii() else f"(U+{ord(c):04X})") for c in one_line(text))
