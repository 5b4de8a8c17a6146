"""Doubts about the log: a case where each fires, and one where it does not."""

from dataclasses import replace

import pytest

from ropeval.data import make_problem
from ropeval.estimators.estimator import EffectiveSize
from ropeval.evaluation.diagnosis import about_log
from tests.evaluation.diagnosis.evidences import GAMMA, Residuals, covering
from tests.problems import LinearQuadratic


def test_coverage(calm):
    assert about_log.coverage(replace(calm, coverage=covering(0.2))) is None
    assert about_log.coverage(calm) is None
    found = about_log.coverage(replace(calm, coverage=covering(0.5)))
    assert found.severity == "warning"
    assert "median distance 4 against 1" in found.message
    assert about_log.coverage(replace(calm, coverage=covering(0.8))).severity == "severe"


def test_effective_sample_size(calm):
    def ask(size):
        estimated = replace(calm.estimated, effective=EffectiveSize(size, False))
        return about_log.effective_sample_size(replace(calm, estimated=estimated))

    assert (ask(150.0).severity, ask(150.0).advice) == ("note", "")
    assert ask(3.0).severity == "severe"
    assert "never takes" in ask(0.0).message
    assert about_log.effective_sample_size(calm) is None


def test_weights_are_graded_by_their_share_and_their_mean(calm):
    def ask(size, mean=1.0, length=1.0):
        effective = EffectiveSize(size, False, mean, 0.42, length)
        return about_log.effective_sample_size(replace(calm, estimated=replace(calm.estimated, effective=effective)))

    assert [ask(size).severity for size in (150.0, 21.0, 19.0, 11.0, 5.0)] == [
        "note",
        "note",
        "warning",
        "warning",
        "severe",
    ]
    assert [ask(150.0, mean).severity for mean in (0.9, 0.46, 1.6, 0.3, 4.0)] == [
        "note",
        *["warning"] * 2,
        *["severe"] * 2,
    ]
    short = ask(19.0, 0.46, 0.5)
    assert "mean weight 0.46 (1 is right): a hundredth of the episodes carries 42% of the weight" in short.message
    assert short.message.endswith("short episodes are favoured")
    assert short.numbers["largest"] == 0.42
    assert about_log.weight_severity(2_000.0, 100_000, 1.0) == "note"  # so many are enough
    assert about_log.weight_severity(200.0, 10_000, 1.0) == "severe"


def of_log(calm, log, gamma=GAMMA, **estimated):
    problem = make_problem(log, LinearQuadratic().policy(0.0), gamma)
    return replace(calm, problem=problem, estimated=replace(calm.estimated, **estimated))


def test_few_episodes(calm):
    assert about_log.few_episodes(of_log(calm, LinearQuadratic().log(20))) is None
    assert about_log.few_episodes(of_log(calm, LinearQuadratic().log(19))).severity == "warning"
    assert about_log.few_episodes(of_log(calm, LinearQuadratic().log(1))).severity == "severe"


def test_truncation(calm):
    q = Residuals(calm)
    found = about_log.truncation(of_log(calm, LinearQuadratic().log(30, length=10), q=q))
    assert found.numbers == pytest.approx({"cut": 1.0, "beyond": 0.9**10})
    assert about_log.truncation(of_log(calm, LinearQuadratic().log(30, length=40), q=q)) is None
    assert about_log.truncation(replace(calm, estimated=replace(calm.estimated, q=q))) is None  # the chain ends
    assert about_log.truncation(of_log(calm, LinearQuadratic().log(30, length=10))) is None  # without q: its own words


def test_horizon(calm):
    assert about_log.horizon(of_log(calm, LinearQuadratic().log(30, length=10), 0.9)) is None
    found = about_log.horizon(of_log(calm, LinearQuadratic().log(30, length=10), 0.99))
    assert found.numbers == pytest.approx({"horizon": 100.0, "longest": 10})
    assert found.severity == "warning"
    log = LinearQuadratic().log(30, length=10)
    ends = replace(log, terminations=log.truncations, truncations=log.terminations)
    assert about_log.horizon(of_log(calm, ends, 0.99)).severity == "note"  # every episode ends of itself


def test_clock(calm):
    log = LinearQuadratic().log(30, length=10)
    ends = replace(log, terminations=log.truncations, truncations=log.terminations)
    for asks in ({"q": Residuals(calm)}, {"extras": {"support": 1.0}}):
        found = about_log.clock(of_log(calm, ends, **asks))
        assert found.severity == "warning"
        assert found.message.startswith("100% of the episodes end after exactly 10 steps")
        assert about_log.clock(of_log(calm, log, **asks)) is None  # cut off, and said so
    assert about_log.clock(of_log(calm, ends)) is None  # weights do not ask when an episode ends
