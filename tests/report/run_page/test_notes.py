"""Findings as notes: worst first, one for each kind."""

from ropeval.evaluation.result import Finding
from ropeval.report.run_page import Outcome
from ropeval.report.run_page.notes import notes
from tests.report.outcomes import estimate, estimates


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
