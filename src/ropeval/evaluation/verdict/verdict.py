"""One verdict on every estimate of a policy, from their signs and from what they say of each other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

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
    "alone": "nothing unlike it was asked; run world beside it",
    "weights": "nothing unlike it was asked; run world beside it",
    "blind": "it ignores the policy",
}


def give_verdicts(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The same estimates, each with its verdict."""
    simulators: dict[str, Estimate] = {}  # the first of each policy that was trained
    for one in estimates:
        if is_simulator(one):
            simulators.setdefault(one.policy, one)
    return [replace(one, verdict=verdict_on(one, simulators.get(one.policy))) for one in estimates]


def is_simulator(one: Estimate) -> bool:
    """Whether others can be held against it."""
    return "support" in one.signs and one.value is not None and not untrained(one.signs)


def verdict_on(estimate: Estimate, simulator: Estimate | None) -> Verdict | None:
    """None where nothing is known: no estimate, or a result of an earlier version."""
    if estimate.value is None or not estimate.signs:
        return None
    beside = None if "support" in estimate.signs else simulator
    kind, judged = look(estimate, beside)
    expected = table().expected.get(kind, {}).get(judged.word)
    signs = read(estimate.signs) | ({} if beside is None else {"contradicted": apart(estimate, beside)})
    clauses = [reason(name, signs[name]) for name in judged.because]
    if not clauses and beside is not None and judged.word != "supported":
        clauses = ["the simulator, which says the same, is no better supported"]
    return Verdict(
        word=judged.word,
        reason="; ".join(clauses[:2]) or CLEAR[kind],
        share=expected.share if expected else None,
        error=max(expected.scale * estimate.signs["scale"], _half(estimate)) if expected else None,
    )


def _half(estimate: Estimate) -> float:
    """Of its interval: where luck alone may move it further than such estimates were off, that is what to expect."""
    return (estimate.interval.high - estimate.interval.low) / 2.0 if estimate.interval else 0.0


def look(estimate: Estimate, simulator: Estimate | None) -> tuple[Kind, Judged]:
    """Who speaks, and what is to be held of it."""
    if "support" in estimate.signs:
        return "simulator", _judge("simulator", estimate.signs)
    if simulator is not None:
        seen = read(estimate.signs) | {"contradicted": apart(estimate, simulator)}
        own = judge(seen, BY_REASON | table().limits["beside"])
        bound = _judge("simulator", simulator.signs).word
        return "beside", own._replace(word=worse(own.word, bound))
    kind: Kind = "blind" if estimate.family == BASELINES else "weights" if "effective" in estimate.signs else "alone"
    return kind, _judge(kind, estimate.signs)


def apart(estimate: Estimate, simulator: Estimate) -> float:
    assert estimate.value is not None
    assert simulator.value is not None
    return abs(estimate.value - simulator.value) / simulator.signs["scale"]


def _judge(kind: Kind, signs: Mapping[str, float]) -> Judged:
    best: Word = BEST.get(kind, "supported")
    return judge(read(signs), BY_REASON | table().limits.get(kind, {}), best)


def read(signs: Mapping[str, float]) -> dict[str, float]:
    """With those that the rule calls by another name: the larger, the worse."""
    made = dict(signs)
    if "support" in signs:
        made["unsupported"] = 1.0 - signs["support"]
    if "effective" in signs:
        made["few"] = max(signs["effective"], LEAST) ** -0.5
    if "weight" in signs:
        made["unlike"] = abs(log(max(signs["weight"], LEAST)))
    return made
