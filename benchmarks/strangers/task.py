"""What a task is, whoever makes it: a log, policies that did not write it, and what they are worth."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Act = Callable[[Floats], NDArray[Any]]  # observations [n, S] -> actions [n] or [n, A]


class Task(NamedTuple):
    gamma: float
    horizon: int | None  # steps after which nothing counts; None: as far as γ looks
    policies: Mapping[str, Act]
    log: Mapping[str, NDArray[Any]]  # columns
    truth: Mapping[str, float]  # discounted returns


def clipped(low: float, values: Floats, high: float) -> Floats:
    """One action of these values: [n, 1]."""
    return np.clip(values, low, high)[:, None]
