"""What an evaluation leaves behind, for the doubts to look at."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Problem, Transitions
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.result import Coverage
from ropeval.learning.engine import DIVERGED_AT_BOUNDS, Run, Trained


@dataclass(frozen=True, eq=False)
class Evidence:
    problem: Problem
    value: float | None
    diverged: NDArray[np.bool_]  # [M]
    trained: dict[str, Trained]
    estimated: Estimated
    run: Run
    features: Transitions | None = None  # of an encoder, [M, …]
    coverage: Coverage | None = None  # where the method looks at the policy at all
    remarks: tuple[str, ...] = ()  # of encoder and estimator

    @property
    def used(self) -> NDArray[np.bool_]:
        """[M] members whose estimates count."""
        return ~self.diverged


def diverged_members(trained: dict[str, Trained], values: NDArray[np.float64], bound: float) -> NDArray[np.bool_]:
    """[M] members that cannot be believed: not finite, or absurdly large, at any time in any stage."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values) | (np.abs(values) > DIVERGED_AT_BOUNDS * bound)
    for run in trained.values():
        bad = bad | (run.diverged_at >= 0)
    result: NDArray[np.bool_] = bad
    return result
