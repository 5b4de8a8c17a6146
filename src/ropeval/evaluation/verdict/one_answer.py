"""The one number to go by for a policy, chosen without truth from all estimates of a run.

The simulator's, where one was asked, and not trained far too briefly. A q that was learned by bootstrapping errs in
other ways, so where the two do not contradict each other (they are closer than two standard errors of their
difference), both count, each by its precision (of several such q the first that was asked for):

    V̂ = Σ V̂_i/σ_i² / Σ 1/σ_i²,      σ_i from resampled logs

On the suite's dev cases that is a little better than the simulator alone; blending in linear models or importance
weights, going over to the log's return where the simulator guesses, or wider limits, were not (docs/guide/trust.md).

Without a simulator it is the estimate with the best verdict, then the smallest spread, also where that is a guess: on
dev cases what the log itself earned is further off. Methods that ignore the policy count only where no other answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ropeval.evaluation.result import BASELINES, FITTED_Q, Estimate, Verdict
from ropeval.evaluation.verdict.rule import WORDS, untrained
from ropeval.evaluation.verdict.verdict import is_simulator

CONTRADICTION = 2.0  # standard errors of the difference


@dataclass(frozen=True)
class Answer:
    policy: str
    value: float
    low: float | None  # of the 95 % interval: the mean of the ends of those that count, as if they always erred alike
    high: float | None
    methods: dict[str, float]  # those that count, and by how much
    verdict: Verdict | None


def one_answer(estimates: Sequence[Estimate]) -> Answer | None:
    """Of one policy; None where no method has an estimate."""
    known = [one for one in estimates if one.value is not None]
    simulator = next((one for one in known if is_simulator(one)), None)
    if simulator is not None:
        return _blend([simulator, *[one for one in known if _confirms(one, simulator)][:1]])  # two q err alike
    if not known:
        return None
    seeing = [one for one in known if one.family != BASELINES]
    return as_answer(min(seeing or known, key=lambda one: (_place(one), one.signs.get("spread", np.inf))))


def answers(estimates: Sequence[Estimate]) -> list[Answer]:
    """Of every policy, in the order in which they come."""
    policies = dict.fromkeys(one.policy for one in estimates)
    found = [one_answer([one for one in estimates if one.policy == policy]) for policy in policies]
    return [one for one in found if one is not None]


def as_answer(one: Estimate) -> Answer:
    """One estimate by itself."""
    return _blend([one])


def _confirms(one: Estimate, simulator: Estimate) -> bool:
    """Whether it is a learned q that says the same, as far as can be told: where an error is not known (one member is
    left), it cannot. One that was hardly trained is calm, and would count for much."""
    if one is simulator or one.family != FITTED_Q or untrained(one.signs):
        return False
    assert one.value is not None
    assert simulator.value is not None
    error = float(np.hypot(_error(one), _error(simulator)))
    return bool(np.isfinite(error)) and abs(one.value - simulator.value) < CONTRADICTION * error


def _error(one: Estimate) -> float:
    """Its standard error, in rewards; infinite where it is not known."""
    return one.signs["spread"] * one.signs["scale"] if "spread" in one.signs else np.inf


def _place(one: Estimate) -> int:
    return WORDS.index(one.verdict.word) if one.verdict else len(WORDS)


def _blend(some: Sequence[Estimate]) -> Answer:
    """The first decides about the verdict."""
    precision = np.array([1.0 / max(_error(one), 1e-12) ** 2 for one in some])
    share = precision / precision.sum() if precision.sum() > 0.0 else np.ones(len(some)) / len(some)

    def mean(values: Sequence[float | None]) -> float | None:
        given = [value for value in values if value is not None]
        return float(share @ np.array(given)) if len(given) == len(some) else None

    value = mean([one.value for one in some])
    assert value is not None
    return Answer(
        policy=some[0].policy,
        value=value,
        low=mean([one.interval.low if one.interval else None for one in some]),
        high=mean([one.interval.high if one.interval else None for one in some]),
        methods={one.method: float(part) for one, part in zip(some, share, strict=True)},
        verdict=some[0].verdict,
    )
