"""What a run left behind, arranged for showing it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval.evaluation.result import SEVERITIES, Coverage, Estimate, Finding, Ranking
from ropeval.evaluation.result_folder import ResultFolder

BASELINES = ("mean-reward", "mean-return")  # they ignore the policy


class Curve(NamedTuple):
    """How one number moved while training."""

    steps: NDArray[np.int64]  # [C]
    values: NDArray[np.float64]  # [C, M]; nan where a member has none


class Trace(NamedTuple):
    policy: str
    method: str
    stage: str
    metric: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that a run left behind."""

    estimates: list[Estimate]
    about: dict[str, Any] = field(default_factory=dict)  # what was asked: run.json
    rankings: list[Ranking] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    curves: dict[Trace, Curve] = field(default_factory=dict)
    truth: Mapping[str, float] = field(default_factory=dict)

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(e.policy for e in self.estimates))

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(e.method for e in self.estimates))

    def of(self, policy: str) -> list[Estimate]:
        return [e for e in self.estimates if e.policy == policy]


def facts(outcome: Outcome, members: bool = True) -> list[str]:
    """What was asked of what, in a few words each."""
    about, first = outcome.about, outcome.estimates[0] if outcome.estimates else None
    episodes = {e.interval.episodes for e in outcome.estimates if e.interval}
    told = [f"log: {Path(str(about['log'])).name}"] if about.get("log") else []
    told += [f"{max(episodes):,} episodes"] if episodes else []
    told += [f"γ = {about['gamma']}"] if "gamma" in about else []
    told += [f"first {first.config['horizon']:,} steps"] if first and first.config.get("horizon") else []
    told += [f"{about['members']} members per estimate"] if members and "members" in about else []
    return told + ([f"SHA-256 {first.data_sha256[:12]}…"] if first else [])


def findings(estimate: Estimate) -> list[Finding]:
    """The diagnosis; results from before there was one have plain sentences instead."""
    plain = [Finding("", "warning", sentence, "") for sentence in estimate.warnings]
    return estimate.diagnosis or plain


def worst(estimate: Estimate) -> int:
    """0 if there is nothing to say against it, and the more the worse."""
    if estimate.value is None:
        return len(SEVERITIES) + 1
    return max((len(SEVERITIES) - place(f.severity) for f in findings(estimate)), default=0)


def place(severity: str) -> int:
    """Among the severities, worst first; one that a newer version may have invented comes after them."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def read_outcome(folder: Path, truth: Mapping[str, float] | None = None) -> Outcome:
    """Read a finished run. What an older or simpler run did not write is left out."""
    kept = ResultFolder(folder)
    results, trust = kept.results(), kept.trust()
    groups = kept.curves().group_by("policy", "method", "stage", "metric", maintain_order=True)
    curves = {Trace(*map(str, key)): _curve(rows) for key, rows in groups}
    return Outcome(results, kept.about(), trust.ranking, trust.coverage, curves, truth or trust.truth)


def _curve(rows: Any) -> Curve:
    steps, at = np.unique(rows["step"].to_numpy(), return_inverse=True)
    members = rows["member"].to_numpy()
    values = np.full((len(steps), int(members.max()) + 1), np.nan)
    values[at, members] = rows["value"].to_numpy()
    return Curve(steps, values)
