"""What speaks against the answer: the findings, as notes of the page."""

from ropeval.report.html import Note
from ropeval.report.run_page.outcome import Outcome, findings, place


def notes(outcome: Outcome) -> list[Note]:
    """The findings by what they are, worst first: each with all the cases in which it was found."""
    cases: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for estimate in outcome.estimates:
        for finding in findings(estimate):
            key = (finding.severity, finding.code or finding.message, finding.advice)
            cases.setdefault(key, []).append((f"{estimate.policy} by {estimate.method}", finding.message))
    told = []
    for (severity, code, advice), found in sorted(cases.items(), key=lambda item: place(item[0][0])):
        messages = list(dict.fromkeys(message for _, message in found))
        action = f"What to do: {advice}." if advice else ""
        if len(messages) == 1:
            everywhere = len(found) == len(outcome.estimates)
            about = [f"all {len(found)} estimates"] if everywhere and len(found) > 1 else [who for who, _ in found]
            told.append(Note(severity, messages[0], action, about))
        else:
            title = code.replace("_", " ").replace("-", " ")
            told.append(Note(severity, title, action, [f"{who}: {message}" for who, message in found]))
    return told
