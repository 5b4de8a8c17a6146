"""What an evaluation leaves behind, for the doubts to look at."""

from dataclasses import dataclass

import numpy as np

from ropeval.arrays import Booleans, Floats
from ropeval.data import Problem, Transitions
from ropeval.data.bounds import ANYTHING, Bounds
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.result import Coverage
from ropeval.learning.engine import DIVERGED_AT_BOUNDS, Run, Trained


@dataclass(frozen=True, eq=False)
class Evidence:
    problem: Problem
    value: float | None
    diverged: Booleans  # [M]
    trained: dict[str, Trained]
    estimated: Estimated
    run: Run
    features: Transitions | None = None  # of an encoder, [M, …]
    coverage: Coverage | None = None  # where the method looks at the policy at all
    remarks: tuple[str, ...] = ()  # of encoder and estimator
    bounds: Bounds = ANYTHING  # of what the policy can be worth

    @property
    def used(self) -> Booleans:
        """[M] members whose estimates count."""
        return used_members(self.estimated.values, self.diverged, self.bounds)


def used_members(values: Floats, diverged: Booleans, bounds: Bounds) -> Booleans:
    """[M] members that can be right: neither diverged nor beyond what the rewards allow. If all are beyond, it is the
    method that is wrong and not some of them, and all count that did not diverge."""
    inside = ~diverged & ~bounds.outside(values)
    return inside if inside.any() else ~diverged


def diverged_members(trained: dict[str, Trained], values: Floats, bound: float) -> Booleans:
    """[M] members that cannot be believed: not finite, or absurdly large, at any time in any stage."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values) | (np.abs(values) > DIVERGED_AT_BOUNDS * bound)
    for run in trained.values():
        bad = bad | (run.diverged_at >= 0)
    return bad
