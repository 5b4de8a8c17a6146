"""Two result folders side by side: was the same asked, and what has changed?"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.errors import UserError
from ropeval.evaluation.result import Estimate
from ropeval.evaluation.result_folder import ResultFolder

OTHER = ("fingerprint", "log", "data_sha256", "policies", "methods")  # of run.json, told apart from the options


@dataclass(frozen=True)
class Change:
    """One policy by one method, in both runs."""

    policy: str
    method: str
    before: float | None
    after: float | None
    difference: float | None  # None where one of them diverged
    low: float | None  # of the difference; None where one of them has no interval
    high: float | None


@dataclass(frozen=True)
class Compared:
    same_log: bool
    differences: list[str]  # of what was asked, a sentence each
    changes: list[Change]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_runs(before: Path, after: Path) -> Compared:
    """What the second run says of the policies and methods that both know."""
    first, second = ResultFolder(before), ResultFolder(after)
    old, new = ({(e.policy, e.method): e for e in folder.results()} for folder in (first, second))
    shared = [key for key in old if key in new]
    if not shared:
        raise UserError(
            f"{before} and {after} have no policy with the same name and method in common: "
            f"{_listed(old)} there, {_listed(new)} here; nothing can be compared"
        )
    logs = {e.data_sha256 for e in (*old.values(), *new.values())}
    asked = first.about(), second.about()
    told = _log_words(*asked, len(logs) == 1) + _policy_words(*asked) + _only_words(old, new)
    return Compared(len(logs) == 1, told + _option_words(*asked), [_change(old[key], new[key]) for key in shared])


def _listed(found: dict[tuple[str, str], Estimate]) -> str:
    return ", ".join(f"{policy} by {method}" for policy, method in list(found)[:3])


def _change(old: Estimate, new: Estimate) -> Change:
    """The ends as if the two were independent: on one log they share their luck, and the interval is too wide."""
    if old.value is None or new.value is None:
        return Change(old.policy, old.method, old.value, new.value, None, None, None)
    difference, low, high = new.value - old.value, None, None
    if old.interval is not None and new.interval is not None:
        low = difference - float(np.hypot(new.value - new.interval.low, old.interval.high - old.value))
        high = difference + float(np.hypot(new.interval.high - new.value, old.value - old.interval.low))
    return Change(old.policy, old.method, old.value, new.value, difference, low, high)


def _log_words(old: dict[str, Any], new: dict[str, Any], same: bool) -> list[str]:
    if same:
        return []
    return [f"the logs differ: {old.get('log', 'unknown')} before, {new.get('log', 'unknown')} after"]


def _policy_words(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Policies that have kept their name, and nothing else."""
    hashes = [{p["name"]: p.get("sha256") for p in about.get("policies", [])} for about in (old, new)]
    changed = [name for name in hashes[0] if name in hashes[1] and hashes[0][name] != hashes[1][name]]
    return [f"{name} is another policy under the same name" for name in changed]


def _only_words(old: dict[tuple[str, str], Estimate], new: dict[tuple[str, str], Estimate]) -> list[str]:
    found = []
    for one, other, when in ((old, new, "before"), (new, old, "after")):
        alone = [f"{policy} by {method}" for policy, method in one if (policy, method) not in other]
        if alone:
            found.append(f"only {when}: {', '.join(alone)}")
    return found


def _option_words(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Options and settings that are not the same."""
    flat = [_flat(about) for about in (old, new)]
    names = [name for name in flat[0] if name in flat[1] and flat[0][name] != flat[1][name]]
    return [f"{name}: {flat[0][name]} before, {flat[1][name]} after" for name in names]


def _flat(about: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in about.items() if name not in OTHER}
    for method, parts in about.get("methods", {}).items():
        for part, fields in parts.items():
            plain |= {f"{part}.{field} of {method}": value for field, value in fields.items()}
    return plain
