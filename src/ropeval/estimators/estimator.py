"""What an estimator is: a problem in, one estimate per member out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Problem
from ropeval.learning.engine import Run, Trained
from ropeval.policies import Policy
from ropeval.settings import PartConfig


@dataclass(frozen=True, eq=False)
class Estimated:
    values: NDArray[np.float64]  # [M], or [1] where nothing is random
    trained: dict[str, Trained] = field(default_factory=dict)  # by stage
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimator:
    """An entry of the registry."""

    config: type[PartConfig]
    estimate: Callable[[Problem, Any, Run], Estimated]
    summary: str
    takes_features: bool  # whether an encoder can stand before it
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)  # preset name -> overrides
    check: Callable[[Dataset, Policy], None] | None = None  # refuses, before any work, what it cannot answer
    spread: tuple[str, ...] = ()  # fields of which the members of one run may have values of their own
