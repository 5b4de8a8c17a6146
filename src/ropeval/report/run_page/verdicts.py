"""How far to rely on each estimate: a row for each, below the one number to go by."""

from ropeval.evaluation.result import Verdict
from ropeval.report.run_page.headline import headline_answers
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Cell, Table, Tone, Value

TONES: dict[str, Tone] = {"supported": "", "partly": "warning", "guess": "severe"}


def verdicts_table(outcome: Outcome) -> Table:
    by_policy = []
    chosen = {one.policy: one for one in headline_answers(outcome)}
    for policy in outcome.policies:
        rows: list[list[Cell | Value]] = [[policy, e.method, e.value, *_told(e.verdict)] for e in outcome.of(policy)]
        answer = chosen.get(policy)
        if answer is not None and len(rows) > 1:
            who = " and ".join(f"{name} ({share:.0%})" for name, share in answer.methods.items())
            rows.insert(0, [policy, Cell("to go by", below=who), answer.value, *_told(answer.verdict)])
        by_policy.append(rows)
    return Table.grouped(["policy", "method", "estimate", "verdict", "expected error", "because"], by_policy)


def _told(verdict: Verdict | None) -> tuple[Cell, Cell, Cell]:
    if verdict is None:
        return Cell("–"), Cell("–"), Cell("")
    expected = "–" if verdict.share is None else f"{verdict.share:.0%}"
    return Cell(verdict.word, tone=TONES.get(verdict.word, "")), Cell(expected), Cell(verdict.reason)
