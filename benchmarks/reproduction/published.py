"""The paper's own numbers, and whether ours agree with them."""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ropeval.bench.results.scores import Interval

NEAR = 0.1  # "close": within so much of the paper's number


class Number(NamedTuple):
    """A cell of the paper's table: an RMAE and half the width of its 95 % interval; infinite where it diverged."""

    value: float
    half_width: float

    @property
    def text(self) -> str:
        return "Diverged" if self.value == float("inf") else f"{self.value:.3f} ± {self.half_width:.3f}"


class Published(NamedTuple):
    rmae: dict[str, dict[str, Number]]  # task -> method -> number
    values: dict[str, dict[str, float]]  # task -> evaluated, behaviour -> value

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for cells in self.rmae.values() for method in cells))


def read_published(path: Path) -> Published:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    rmae = {
        task: {method: _number(entry, f"{path}: {task}, {method}") for method, entry in cells.items()}
        for task, cells in content["rmae"].items()
    }
    values = {task: {role: float(v) for role, v in known.items()} for task, known in content["values"].items()}
    return Published(rmae, values)


def read_independent(path: Path, task: str) -> dict[str, dict[str, float]]:
    """evaluated, random -> discounted, mean_reward -> value; empty where nobody measured."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return next((known for pattern, known in content.items() if fnmatchcase(task, pattern)), {})


def _number(entry: Any, where: str) -> Number:
    if entry == "diverged":
        return Number(float("inf"), float("nan"))
    if not (isinstance(entry, list) and len(entry) == 2):
        raise ValueError(f'{where}: {entry!r}; expected [value, half width] or "diverged"')
    return Number(float(entry[0]), float(entry[1]))


def agreement(paper: Number, ours: Interval) -> str:
    """One mark, the strongest that holds, and ours as a multiple of the paper's number."""
    if ours.diverged or paper.value == float("inf"):
        both = ours.diverged and paper.value == float("inf")
        return "agrees: both diverged" if both else f"differs: only {'ours' if ours.diverged else 'theirs'} diverged"
    times = f"({ours.value / paper.value:.2f}×)"
    if ours.low <= paper.value <= ours.high:
        return f"agrees: inside our interval {times}"
    if ours.low <= paper.value + paper.half_width and paper.value - paper.half_width <= ours.high:
        return f"agrees: intervals overlap {times}"
    if abs(ours.value - paper.value) <= NEAR * paper.value:
        return f"close: within {NEAR:.0%} {times}"
    return f"differs {times}"


MARKS = (
    "Against the paper, the first that holds: “inside our interval”, the paper's number lies in our 95 % interval; "
    "“intervals overlap”, ours and the paper's ± do; “close”, within "
    f"{NEAR:.0%} of the paper's number; otherwise “differs”. In brackets: ours divided by the paper's. Few seeds make "
    "intervals wide, and wide intervals hold much: look at both."
)
