"""What an encoder is: a problem in, the same problem in new features out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ropeval.data import Dataset, Problem, Transitions
from ropeval.data.needs import Need
from ropeval.learning.engine import Run, Trained
from ropeval.policies import Policy
from ropeval.settings import PartConfig


@dataclass(frozen=True, eq=False)
class Encoded:
    transitions: Transitions
    trained: tuple[Trained, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Encoder:
    """An entry of the registry. Its name is that of its settings, its curves and its checkpoints, too."""

    name: str
    config: type[PartConfig]
    fit: Callable[[Problem, Any, Run], Encoded]
    summary: str
    before: str = "fqe"  # the estimator that it is usually put before
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name; "cpu", "gpu": the default on one
    needs: tuple[Need, ...] = ()  # of the log and the policy: refused, before any work, where it is not there
    check: Callable[[Dataset, Policy], None] | None = None  # refuses what no need can say
    spread: tuple[str, ...] = ()  # fields of which the members of one run may have values of their own

    def __call__(self, problem: Problem, config: PartConfig, run: Run) -> Encoded:
        return self.fit(problem, config, run.of(self.name))
