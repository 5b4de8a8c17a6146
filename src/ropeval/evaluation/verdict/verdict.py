"""One verdict on every estimate of a policy, from their signs and from what they say of each other.

Lengths are measured by what policies differ by: the range of the simulator's values of all judged policies and of the
log's behaviour, but no more than the log's scale. Where luck moves returns, or episodes explode, the scale is
many times that, and everything looks near. A single policy is set beside one that anybody could deploy, actions at
random: the sign `differ` has what it, the log and that policy differ by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

from ropeval.evaluation.diagnosis.about_log import weight_severity
from ropeval.evaluation.result import BASELINES, Estimate, Verdict
from ropeval.evaluation.verdict.rule import (
    BEST,
    BY_REASON,
    Judged,
    Kind,
    Word,
    judge,
    reason,
    table,
    untrained,
    worse,
)

LEAST = 1e-12  # weights may all be 0
CLEAR: dict[Kind, str] = {
    "simulator": "the log shows what the policy would do, and all members of the simulator agree on it",
    "beside": "a simulator that the log supports says the same",
    "alone": "no trained simulator stands beside it; run world, too",
    "weights": "no trained simulator stands beside it; run world, too",
    "blind": "it ignores the policy",
}


def give_verdicts(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The same estimates, each with its verdict."""
    simulators: dict[str, Estimate] = {}  # the first of each policy that was trained
    for one in estimates:
        if is_simulator(one):
            simulators.setdefault(one.policy, one)
    differ = policies_differ_by(list(simulators.values()))
    return [replace(one, verdict=verdict_on(one, simulators.get(one.policy), differ)) for one in estimates]


def policies_differ_by(simulators: Sequence[Estimate]) -> float | None:
    """In rewards, of one simulator per policy; None where there is none."""
    if not simulators:
        return None
    scale = simulators[0].signs["scale"]
    if len(simulators) == 1:
        signs = simulators[0].signs
        return scale * min(1.0, max(signs.get("differ", signs.get("moved", 1.0)), LEAST))
    values = [one.value for one in simulators if one.value is not None]
    from_log = max(one.signs.get("moved", 0.0) * one.signs["scale"] for one in simulators)
    return min(scale, max(max(values) - min(values), from_log, LEAST * scale))


def is_simulator(one: Estimate) -> bool:
    """Whether others can be held against it."""
    return "support" in one.signs and one.value is not None and not untrained(one.signs)


def verdict_on(estimate: Estimate, simulator: Estimate | None, differ: float | None = None) -> Verdict | None:
    """None where nothing is known: no estimate, or a result of an earlier version."""
    if estimate.value is None or not estimate.signs:
        return None
    beside = None if "support" in estimate.signs else simulator
    kind, judged = look(estimate, beside, differ)
    expected = table().expected.get(kind, {}).get(judged.word)
    signs = read(estimate.signs, differ) | distances(estimate, beside, differ)
    clauses = [reason(name, signs[name]) for name in judged.because]
    if not clauses and beside is not None and judged.word != "supported":
        clauses = ["the simulator, which says the same, is no better supported"]
    return Verdict(
        word=judged.word,
        reason="; ".join(clauses[:2]) or CLEAR[kind],
        share=expected.share if expected else None,
        error=max(expected.scale * yardstick(kind, estimate, differ), _half(estimate)) if expected else None,
    )


def yardstick(kind: Kind, estimate: Estimate, differ: float | None) -> float:
    """What lengths are measured by, in rewards."""
    return differ if differ is not None and kind in ("simulator", "beside") else estimate.signs["scale"]


def _half(estimate: Estimate) -> float:
    """Of its interval: where luck alone may move it further than such estimates were off, that is what to expect."""
    return (estimate.interval.high - estimate.interval.low) / 2.0 if estimate.interval else 0.0


def look(estimate: Estimate, simulator: Estimate | None, differ: float | None = None) -> tuple[Kind, Judged]:
    """Who speaks, and what is to be held of it."""
    if "support" in estimate.signs:
        return _own(estimate, differ)
    if simulator is not None:
        seen = read(estimate.signs) | distances(estimate, simulator, differ)
        own = judge(seen, BY_REASON | table().limits["beside"])
        bound = _own(simulator, differ)[1].word
        return "beside", own._replace(word=worse(own.word, bound))
    kind: Kind = "blind" if estimate.family == BASELINES else "weights" if "effective" in estimate.signs else "alone"
    judged = _judge(kind, read(estimate.signs))
    return kind, _decided_by_few(judged) if kind == "weights" and _few_decide(estimate.signs) else judged


def _own(simulator: Estimate, differ: float | None) -> tuple[Kind, Judged]:
    return "simulator", _judge("simulator", read(simulator.signs, differ))


def _few_decide(signs: Mapping[str, float]) -> bool:
    """Whether importance weights leave a severe finding."""
    found = weight_severity(signs["effective"], int(signs["episodes"]), signs.get("weight", 1.0))
    return found == "severe"


def _decided_by_few(judged: Judged) -> Judged:
    """Such an estimate may be off by any amount, whatever its other signs are."""
    return judged if judged.word == "guess" else Judged("guess", ["decided", *judged.because])


def distances(estimate: Estimate, simulator: Estimate | None, differ: float | None) -> dict[str, float]:
    """From the simulator, by the names of the rule."""
    if simulator is None or differ is None:
        return {}
    assert estimate.value is not None
    assert simulator.value is not None
    return {"disputed": abs(estimate.value - simulator.value) / differ}


def _judge(kind: Kind, signs: Mapping[str, float]) -> Judged:
    best: Word = BEST.get(kind, "supported")
    return judge(signs, BY_REASON | table().limits.get(kind, {}), best)


def read(signs: Mapping[str, float], differ: float | None = None) -> dict[str, float]:
    """With those that the rule calls by another name: the larger, the worse."""
    made = dict(signs)
    if differ is not None and "spread" in signs:
        made["blurred"] = signs["spread"] * signs["scale"] / differ
    if "support" in signs:
        made["unsupported"] = 1.0 - signs["support"]
        if "members" in signs:
            made["few_members"] = 1.0 / max(signs["members"], 1.0)
    if "effective" in signs:
        made["few"] = max(signs["effective"], LEAST) ** -0.5
        made["decided"] = signs["effective"]
    if "weight" in signs:
        made["unlike"] = abs(log(max(signs["weight"], LEAST)))
    return made
