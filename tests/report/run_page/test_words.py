"""The one sentence, the notes, and what is hidden at first: small rules with exact answers."""

from ropeval.evaluation.result import Finding, Ranking
from ropeval.report.run_page import Outcome
from ropeval.report.run_page.headline import answer, citation, headline_method, notes
from ropeval.report.run_page.marks import flattening, method_series
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


def test_nothing_is_certain():
    ranking = Ranking("fqe", ["left", "right"], [10.0, 2.0], [1.0, 0.0], [[0.5, 1.0], [0.0, 0.5]], 200)
    assert "with a probability of more than 0.99;" in answer(Outcome(estimates(), rankings=[ranking]))


def test_no_answer_is_an_answer():
    assert answer(Outcome([estimate("left", "fqe", None)])) == "There is no answer: every estimate diverged."
    trivial = [estimate(p, "mean-reward", 5.0) for p in ("left", "right")]
    assert answer(Outcome(trivial)).startswith("The log alone tells no policy from another")


def test_notes_come_worst_first_each_with_its_cases():
    severe, warning = notes(Outcome(estimates()))
    assert (severe.severity, warning.severity) == ("severe", "warning")
    assert severe.about == ["left by rope+fqe", "right by rope+fqe"]
    assert severe.action == "What to do: compare with mean-reward."


def test_messages_that_differ_in_their_numbers_are_one_note():
    first, second = (
        estimate(p, "fqe", 1.0, (Finding("far", "warning", f"{share} lie outside", "log more"),))
        for p, share in ("a1", "b2")
    )
    (note,) = notes(Outcome([first, second]))
    assert note.sentence == "far"
    assert note.about == ["a by fqe: 1 lie outside", "b by fqe: 2 lie outside"]


def test_a_method_that_would_flatten_the_rest_is_hidden_at_first():
    sane = [estimate("p", "fqe", 1.0), estimate("p", "lspe", 4.0)]
    assert flattening(Outcome(sane)) == set()
    wild = Outcome([*sane, estimate("p", "is", 1e6), estimate("p", "dr", -1e9), estimate("p", "model", None)])
    assert flattening(wild) == {"is", "dr"}
    assert [look.shown for look in method_series(wild).values()] == [True, True, False, False, True]


def test_the_paper_is_cited_where_its_method_was_used():
    assert "Pavse" in citation(Outcome(estimates()))
    assert "Pavse" not in citation(Outcome([estimate("p", "fqe", 1.0)]))
