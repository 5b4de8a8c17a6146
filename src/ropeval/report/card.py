"""A card for a decision meeting: what was asked, the number, how sure it is, what speaks against it, what to do next.

One page of paper, without pictures. It says less than the page of the run and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ropeval.errors import UserError
from ropeval.evaluation.result import Estimate, Finding
from ropeval.evaluation.verdict.one_answer import Answer
from ropeval.files import write_alone
from ropeval.report.escape import markdown
from ropeval.report.html import Note, Page
from ropeval.report.labels import number, shown
from ropeval.report.run_page.headline import answer, guesses, headline_answers, headline_method
from ropeval.report.run_page.outcome import Outcome, facts, findings, read_outcome
from ropeval.report.table import Cell, Table, Value
from ropeval.report.typeset import to_markdown
from ropeval.report.versus import versus_cell
from ropeval.version import __version__

MOST_POLICIES, MOST_FINDINGS = 5, 2  # what a page has room for
SURE = 0.95  # probability of being better, from which on a log speaks for a policy


@dataclass(frozen=True)
class Card:
    title: str
    answer: str
    facts: list[str]
    table: Table
    against: list[Finding]
    left_out: int  # findings for which there is no room
    next_step: str


def write_card(folder: Path, out: Path | None = None) -> Path:
    """`card.html` in the folder of a run, or `out`: HTML or Markdown, by its ending."""
    path = out or folder / "card.html"
    if path.suffix not in (".html", ".md"):
        raise UserError(f"{path}: a card is written as .html or .md; name it so")
    card = make_card(read_outcome(folder))
    try:
        text = to_page(card).html() if path.suffix == ".html" else to_text(card)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UserError(f"{folder}: its files are not what ropeval {__version__} writes ({error!r})") from error
    write_alone(path, text)
    return path


def make_card(outcome: Outcome) -> Card:
    found, method = headline_answers(outcome), headline_method(outcome)
    best = next((e for e in outcome.of(found[0].policy) if e.method == method), None) if found else None
    told = [] if best is None else [f for f in findings(best) if f.severity != "note"]
    title = f"May {shown(best.policy)} replace what was done?" if best else "No policy could be judged"
    return Card(
        title, answer(outcome), facts(outcome, members=False), _table(found[:MOST_POLICIES], outcome),
        told[:MOST_FINDINGS], max(0, len(told) - MOST_FINDINGS), next_step(best, outcome.estimates),
    )  # fmt: skip


def next_step(best: Estimate | None, estimates: Sequence[Estimate] = ()) -> str:
    """What the number is good for. What is itself a guess contradicts nobody."""
    if best is None:
        return "Decide nothing on this log: every estimate diverged. The page of the run says why."
    found = findings(best)
    better = best.versus_log.better if best.versus_log else None
    if any(f.severity == "severe" for f in found):
        return "Do not decide on this number: something severe speaks against it."
    if best.verdict is not None and best.verdict.word == "guess":
        return f"Do not decide on this number: it is a guess, since {best.verdict.reason}."
    guessed = guesses([e for e in estimates if e.policy == best.policy])
    if any(f.code == "disagreement" and not (f.numbers and guessed >= set(f.numbers)) for f in found):
        return f"Methods contradict each other about {best.policy}: do not decide before it is clear which is right."
    if better is None:
        return "How sure the number is was not measured: evaluate again with resampling before deciding."
    if better >= SURE:
        return f"The log speaks for {best.policy}: try it on a small scale, and log what happens."
    if better <= 1.0 - SURE:
        return f"The log speaks against {best.policy}: keep what is done."
    return f"The log does not tell whether {best.policy} is better than what was done: collect more episodes."


def _table(found: list[Answer], outcome: Outcome) -> Table:
    rows: list[list[Cell | Value]] = []
    for one in found:
        method = max(one.methods, key=lambda name: one.methods[name])
        versus = versus_cell(next(e for e in outcome.of(one.policy) if e.method == method))
        rows.append(
            [
                shown(one.policy),
                number(one.value),
                "–" if one.low is None or one.high is None else f"{number(one.low)} to {number(one.high)}",
                one.verdict.word if one.verdict else "–",
                f"{versus.text} ({versus.below})" if versus.below else versus.text,
            ]
        )
    return Table(["policy", "value", "interval", "verdict", "over the log, p of being better"], rows, left=1)


def to_page(card: Card) -> Page:
    """The next step stands on top, and what would make the number better beside what speaks against it."""
    page = Page(card.title, card.next_step, card.facts)
    page.section("The numbers", card.answer).table(card.table)
    against = page.section("What speaks against it, and what to do next")
    for finding in card.against:
        against.note(Note(finding.severity, finding.message, finding.advice))
    if not card.against:
        against.note(Note("good", "Nothing was found. That is no proof."))
    if card.left_out:
        against.text(f"And {card.left_out} more: see the page of the run.")
    return page


def to_text(card: Card) -> str:
    """The same as Markdown."""
    against = [f"- **{f.severity}**: {markdown(f.sentence)}" for f in card.against] or ["- Nothing was found."]
    more = [f"- and {card.left_out} more: see the page of the run"] if card.left_out else []
    table = to_markdown(card.table).split("\n\n", 1)[1].strip()  # its title is the section's
    lines = [
        f"# {markdown(card.title)}", markdown(card.next_step), markdown(" · ".join(card.facts)),
        "## The numbers", markdown(card.answer), table,
        "## What speaks against it, and what to do next", "\n".join([*against, *more]),
        f"Written by ropeval {__version__}.",
    ]  # fmt: skip
    return "\n\n".join(lines) + "\n"
