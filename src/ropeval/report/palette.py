"""One palette for paper and page: colours, dashes and signs, and which of them stand for whom."""

from collections.abc import Sequence
from typing import NamedTuple

# By name; c1 … c8 are for what is drawn. Names are set in them, too, so all of them can be read on both papers.
LIGHT = {
    "paper": "#ffffff", "raised": "#f6f7f9", "ink": "#1b1f24", "muted": "#57606a", "line": "#d5dae0", "grid": "#e3e7ec",
    "accent": "#0058a3", "shade": "#0072b2",
    "severe": "#b3261e", "warning": "#8a5300", "note": "#0058a3", "good": "#1a6b34",
    "c1": "#0072b2", "c2": "#c64f00", "c3": "#00805d", "c4": "#a8457c",
    "c5": "#86690a", "c6": "#5b4fc7", "c7": "#6b6f76", "c8": "#a23b2a",
}  # fmt: skip
DARK = {
    "paper": "#14171c", "raised": "#1d2128", "ink": "#e8eaed", "muted": "#a5adb8", "line": "#3a414c", "grid": "#2b313a",
    "accent": "#7cbcff", "shade": "#4aa3e6",
    "severe": "#ff8f85", "warning": "#f0b84c", "note": "#7cbcff", "good": "#6fd08c",
    "c1": "#58b2f2", "c2": "#ff9355", "c3": "#3ecfa2", "c4": "#ee8fc1",
    "c5": "#e2c04a", "c6": "#aaa0ff", "c7": "#b1b6bf", "c8": "#ff9a8a",
}  # fmt: skip

INK, GREY = "ink", "c7"
COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6", "c8")  # grey is kept for what learns nothing
DASHES = ("solid", "dash", "dashdot", "dot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "hexagon")  # no star: it reads as a prize
TRIVIAL = ("x", "cross")  # the baselines' symbols
SEVERITY_SIGNS = {"severe": "✖", "warning": "▲", "note": "●", "good": "✔"}  # sign and word: never the colour alone


class Style(NamedTuple):
    colour: str  # a name of the palette
    dash: str = "solid"
    symbol: str = "circle"


class Palette:
    """One style per name, the same in every figure: baselines grey and broken, the others in the order given."""

    def __init__(self, names: Sequence[str], baselines: Sequence[str] = ()):
        turns = len(COLOURS)
        self._styles = {
            name: Style(COLOURS[i % turns], DASHES[i // turns % len(DASHES)], SYMBOLS[i % len(SYMBOLS)])
            for i, name in enumerate(name for name in names if name not in baselines)
        }
        for i, name in enumerate(baselines):
            self._styles[name] = Style(GREY, ("dash", "dot")[i % 2], TRIVIAL[i % 2])

    def __getitem__(self, name: str) -> Style:
        return self._styles[name]
