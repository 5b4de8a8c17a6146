"""Words from files are words, never markup: every way in which text enters a page or a document has its own escape."""

import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ropeval.report.labels import one_line
from ropeval.words import clean

# Where Plotly takes words. It reads some tags in them (<b>, <a href>) and resolves entities.
WORDS = {"name", "text", "hovertext", "ticktext", "customdata", "meta", "x", "y", "labels", "title"}
DIGITS = 7  # float32 holds no more
MARKDOWN_SIGNS = "\\`*_{}[]<>|#~$&"
LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "[": "{[}", "]": "{]}", "*": "{*}",
    "†": r"$^\dagger$", "∞": r"$\infty$", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "–": "--",
    "…": r"\dots{}", "≤": r"$\leq$", "ρ": r"$\rho$", "π": r"$\pi$", "γ": r"$\gamma$", "β": r"$\beta$", "φ": r"$\phi$",
    "‖": r"$\|$", "≥": r"$\geq$",
}  # fmt: skip


def escape(words: object) -> str:
    """For HTML, between tags and inside quoted attributes."""
    return html.escape(clean(str(words)), quote=True)


def data_block(value: Any) -> str:
    """JSON for a `<script type="application/json">`: nothing in it can end the script or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def plot_data(value: Any, words: bool = False) -> Any:
    """Plotly's figure as plain JSON: short numbers, null for what is not finite, and no tags in words."""
    if isinstance(value, str):
        return html.escape(clean(value), quote=False) if words else clean(value)
    if isinstance(value, Mapping):
        return {str(k): plot_data(v, k in WORDS) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plot_data(value.tolist(), words)
    if isinstance(value, Sequence):
        return [plot_data(item, words) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.{DIGITS}g}") if math.isfinite(value) else None
    return value


def markdown(text: str) -> str:
    """Names come from files: none of their signs is markup, and none ends a line."""
    return "".join(f"\\{c}" if c in MARKDOWN_SIGNS else c for c in one_line(text))


def latex(text: str) -> str:
    """Every sign that means something to TeX is spelt out, and so is every letter that its fonts may lack.

    A bracket counts among them: behind the end of a row TeX would read it as a length.
    """
    return "".join(LATEX_SIGNS.get(c, c if c.isascii() else f"(U+{ord(c):04X})") for c in one_line(text))
