"""The one sentence: small rules with exact answers."""

from dataclasses import replace

from ropeval.evaluation.result import Finding, Ranking, Verdict
from ropeval.report.run_page import Outcome
from ropeval.report.run_page.headline import answer, headline_method
from tests.report.outcomes import estimate, estimates

DOUBT = Finding("unsettled", "warning", "training had not settled", "use more --steps")


def test_the_learned_method_with_least_against_it_speaks():
    assert headline_method(Outcome(estimates())) == "fqe"
    doubted = [estimate("p", "mean-reward", 1.0), estimate("p", "fqe", 2.0, (DOUBT,)), estimate("p", "lspe", 3.0)]
    assert headline_method(Outcome(doubted)) == "lspe"
    assert headline_method(Outcome(doubted[:2])) == "fqe"  # a doubt does not make the trivial answer better
    assert headline_method(Outcome([estimate("p", "mean-reward", 1.0), estimate("p", "fqe", None)])) == "mean-reward"


def test_who_contradicts_more_speaks_less():
    def against(*others: str) -> tuple[Finding, ...]:
        return (Finding("disagreement", "warning", "m", "", dict.fromkeys(others, 1.0)),)

    split = [
        estimate("p", "lspe", 9.0, against("fqe", "model")),
        estimate("p", "fqe", 1.0, against("lspe")),
        estimate("p", "model", 1.1, against("lspe")),
    ]
    assert headline_method(Outcome(split)) == "fqe"
    assert answer(Outcome(split)).endswith("according to fqe; lspe contradicts it.")
    assert answer(Outcome(split[:1])).endswith("according to lspe; fqe and model contradict it.")
    collapsed = Finding("collapse", "severe", "m", "")
    doubtful = [estimate("p", "fqe", 1.0, against("lspe")), estimate("p", "lspe", 9.0, (*against("fqe"), collapsed))]
    assert answer(Outcome(doubtful)).endswith("; lspe contradicts it but has severe findings of its own.")
    relied, guess = Verdict("supported", "the log shows it"), Verdict("guess", "it left the log")
    judged = [
        replace(estimate("p", "fqe", 1.0, against("lspe")), verdict=relied),
        replace(estimate("p", "lspe", 9.0, against("fqe")), verdict=guess),
    ]
    assert answer(Outcome(judged)).endswith("; lspe contradicts it but is a guess itself.")


def test_one_policy():
    assert answer(Outcome([estimate("left", "fqe", 10.0)])) == (
        "left would earn about 10 (95% interval 9 to 12) according to fqe; no warning speaks against it."
    )
    assert answer(Outcome([estimate("left", "fqe", 10.0, (DOUBT,))])).endswith("; 1 warning speaks against it.")


def test_several_policies_and_the_probability_of_the_best():
    ranking = Ranking("fqe", ["left", "right"], [10.0, 2.0], [0.97, 0.03], [[0.5, 1.0], [0.0, 0.5]], 200)
    assert answer(Outcome(estimates(), rankings=[ranking])) == (
        "Of 2 policies, left would earn the most, about 10 (95% interval 9 to 12) according to fqe, and is the best of "
        "them with probability 0.97; no warning speaks against it."
    )


def test_only_what_speaks_against_the_named_policy_counts():
    several = [estimate("left", "fqe", 10.0), estimate("right", "fqe", 2.0, (DOUBT,))]
    assert answer(Outcome(several)).endswith("; no warning speaks against it.")
    assert answer(Outcome([estimate("left", "fqe", 10.0, (DOUBT,)), several[1]])).endswith(
        "; 1 warning speaks against it."
    )


def test_nothing_is_certain():
    ranking = Ranking("fqe", ["left", "right"], [10.0, 2.0], [1.0, 0.0], [[0.5, 1.0], [0.0, 0.5]], 200)
    assert "with a probability of more than 0.99;" in answer(Outcome(estimates(), rankings=[ranking]))


def test_no_answer_is_an_answer():
    assert answer(Outcome([estimate("left", "fqe", None)])) == "There is no answer: every estimate diverged."
    trivial = [estimate(p, "mean-reward", 5.0) for p in ("left", "right")]
    assert answer(Outcome(trivial)).startswith("The log alone tells no policy from another")
