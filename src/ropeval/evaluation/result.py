"""The answer to one question, with everything needed to read it, check it and ask it again."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ropeval.learning.engine import Trained


@dataclass(frozen=True, eq=False)
class Estimate:
    """What `policy` would earn according to `method`, and how far the members agree.

    `value` is the mean of the members that did not diverge (None if all did); `low` and `high` are the smallest
    and largest of them. That is a spread over random seeds, not a confidence interval.
    """

    policy: str
    policy_kind: str  # "deterministic" or "stochastic"
    method: str
    value: float | None
    low: float | None
    high: float | None
    members: list[float | None]  # every member's estimate; None where it is not a finite number
    diverged: list[int]  # which members diverged
    warnings: list[str]
    config: dict[str, Any]
    data_sha256: str
    version: str
    seconds: float
    curves: list[dict[str, Any]] = field(default_factory=list, repr=False)  # rows: stage, member, step, metric, value

    def to_json(self) -> dict[str, Any]:
        """The row of `result.json`."""
        return {name: value for name, value in self.__dict__.items() if name != "curves"}

    def __repr__(self) -> str:
        value = "diverged" if self.value is None else f"{self.value:.5g}"
        lines = [f"{self.policy} ({self.policy_kind}), {self.method}: {value}"]
        if self.low is not None and self.high is not None and len(self.members) > 1:
            lines[0] += f"  (members {self.low:.5g} … {self.high:.5g})"
        return "\n".join(lines + [f"  ! {warning}" for warning in self.warnings])


def curve_rows(trained: dict[str, Trained]) -> list[dict[str, Any]]:
    """All curves in long form, ready for a data frame."""
    return [
        {"stage": stage, "member": member, "step": int(step), "metric": metric, "value": float(values[c, member])}
        for stage, run in trained.items()
        for metric, values in run.curves.items()
        for c, step in enumerate(run.steps)
        for member in range(values.shape[1])
    ]


def finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
