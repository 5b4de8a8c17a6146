"""Numbers and names as figures and tables show them."""

import math
import re
from collections.abc import Sequence

LONGEST = 34  # letters of a name in a figure


def number(value: float) -> str:
    """Four digits, without exponents where people would not write one."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def counted(number: int, word: str) -> str:
    """1 log, 2 logs."""
    return f"{number} {word}{'' if number == 1 else 's'}"


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
