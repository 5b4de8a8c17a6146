"""What speaks against believing an estimate, in plain sentences."""

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Problem
from ropeval.learning.engine import DIVERGED_AT_BOUNDS, Trained

FEW_EPISODES = 20
DRIFT = 0.05  # of the estimate, over the last quarter of the training, beyond which it had not settled


def diverged_members(trained: dict[str, Trained], values: NDArray[np.float64], bound: float) -> NDArray[np.bool_]:
    """[M] members that cannot be believed: not finite, or absurdly large, at any time in any stage."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values) | (np.abs(values) > DIVERGED_AT_BOUNDS * bound)
    for run in trained.values():
        bad = bad | (run.diverged_at >= 0)
    result: NDArray[np.bool_] = bad
    return result


def warnings_for(
    problem: Problem, value: float | None, diverged: NDArray[np.bool_], trained: dict[str, Trained]
) -> list[str]:
    found = []
    if diverged.any():
        kept = "there is no estimate" if diverged.all() else "they are left out of the estimate"
        found.append(
            f"{int(diverged.sum())} of {len(diverged)} members diverged (not finite, or beyond "
            f"{DIVERGED_AT_BOUNDS:g} times max|r|/(1−γ)); {kept}"
        )
    if value is not None:
        found += _outside_bounds(problem, value)
        found += _not_settled(trained, diverged)
    if problem.dataset.num_episodes < FEW_EPISODES:
        found.append(f"only {problem.dataset.num_episodes} logged episodes: the initial states are hardly sampled")
    return found


def _outside_bounds(problem: Problem, value: float) -> list[str]:
    horizon = 1.0 / (1.0 - problem.gamma)
    low, high = (horizon * float(r) for r in (problem.dataset.rewards.min(), problem.dataset.rewards.max()))
    if problem.dataset.terminations.any():  # an episode that ends earns nothing more
        low, high = min(low, 0.0), max(high, 0.0)
    slack = 0.01 * max(abs(low), abs(high))  # a fit is never exact: a constant reward would always trip the bound
    if low - slack <= value <= high + slack or low == high == 0.0:
        return []
    return [f"the estimate lies outside [{low:.4g}, {high:.4g}], all that the logged rewards allow"]


def _not_settled(trained: dict[str, Trained], diverged: NDArray[np.bool_]) -> list[str]:
    """The estimate's drift over the last quarter of its training, against its size."""
    for run in trained.values():
        if "estimate" not in run.curves or diverged.all():
            continue
        curve = run.curves["estimate"][:, ~diverged].mean(axis=1)  # [C]
        quarter = len(curve) // 4
        if quarter < 2:
            continue
        half = quarter // 2
        before, after = curve[-quarter:-half].mean(), curve[-half:].mean()
        if abs(after - before) > DRIFT * max(abs(after), 1e-12):
            return [
                f"training had not settled: the estimate moved from {before:.4g} to {after:.4g} over the last "
                "quarter; use more --steps"
            ]
    return []
