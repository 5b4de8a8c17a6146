"""Every doubt: a case where it fires, and one where it does not."""

import sys
from dataclasses import replace

import numpy as np

from ropeval.estimators.estimator import EffectiveSize
from ropeval.evaluation.diagnosis.diagnose import CHECKS, compare_methods, diagnose
from ropeval.evaluation.result import Estimate, Finding, Interval
from tests.evaluation.diagnosis.evidences import covering, with_members


def test_nothing_fires_without_reason(calm):
    assert diagnose(calm) == []


def test_the_worst_comes_first_and_remarks_of_the_method_are_kept(calm):
    bad = replace(with_members(calm, 1e3, 1e9), diverged=np.array([False, True]), remarks=("odd features",))
    found = diagnose(bad)
    assert [f.code for f in found] == ["divergence", "out-of-bounds", "method"]
    assert [f.severity for f in found] == ["severe", "severe", "warning"]
    assert found[2].sentence == "odd features"


def test_every_finding_has_a_sentence_and_says_what_to_do(calm):
    bad = [
        replace(calm, diverged=np.array([True, False])),
        with_members(calm, 1e3, 1e3),
        replace(calm, coverage=covering(0.9)),
        replace(calm, estimated=replace(calm.estimated, effective=EffectiveSize(2.0, True))),
    ]
    for evidence in bad:
        (found,) = diagnose(evidence)
        assert len(found.message) > 30
        assert len(found.advice) > 10
        assert found.numbers
        assert found.code in (sys.modules[diagnose.__module__].__doc__ or "")
    assert len(CHECKS) == 14


def estimate(policy, method, low, high):
    middle = (low + high) / 2
    interval = Interval(low, high, 0.95, "t", 10, 50)
    return Estimate(policy, "stochastic", method, middle, interval, low, high, [middle], [], [], {}, "", "", 0.0)


def test_disagreement():
    results = [
        estimate("a", "fqe", 0.0, 1.0), estimate("a", "wdr", 0.5, 2.0), estimate("a", "rope+fqe", 5.0, 6.0),
        estimate("a", "mean-return", 50.0, 60.0), estimate("b", "fqe", 80.0, 90.0),
    ]  # fmt: skip
    fqe, wdr, rope, mean_return, other = compare_methods(results, {"mean-return"})
    assert [f.code for f in fqe.diagnosis] == ["disagreement"]
    assert fqe.diagnosis[0].numbers == {"rope+fqe": 5.5}
    assert "contradicts fqe, wdr" in rope.warnings[0]
    assert wdr.diagnosis[0].numbers == {"rope+fqe": 5.5}
    assert (mean_return.diagnosis, other.diagnosis) == ([], [])


def test_who_stands_alone_is_told_so_once():
    weights = Finding("effective-sample-size", "warning", "effective sample size 76 of 1,200 episodes", "", {})
    wis = replace(estimate("a", "wis", 0.3, 0.6), diagnosis=[weights])
    others = [estimate("a", name, 3.0, 4.0) for name in ("fqe", "lspe", "dr")] + [estimate("a", "is", -5.0, 9.0)]
    alone, *rest = compare_methods([wis, *others], set())
    assert [r.diagnosis for r in rest] == [[]] * 4
    (found,) = [f for f in alone.diagnosis if f.code == "disagreement"]
    assert found.message.startswith("wis stands alone: fqe, lspe, dr all contradict it")
    assert found.message.endswith("Its weights may be why: effective sample size 76 of 1,200 episodes")
    assert set(found.numbers) == {"fqe", "lspe", "dr"}
    # Two camps are no odd one out: each is told.
    camps = [estimate("a", name, *ends) for name, ends in zip("abcd", [(0, 1), (0, 1), (5, 6), (5, 6)], strict=True)]
    assert all("contradicts" in r.warnings[0] for r in compare_methods(camps, set()))
    assert all(r.diagnosis == [] for r in compare_methods([wis, estimate("b", "fqe", 3.0, 4.0)], set())[1:])
