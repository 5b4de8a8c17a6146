"""How far to rely on each estimate: a row for each, below the one number to go by."""

from ropeval.evaluation.result import Estimate, Verdict
from ropeval.report.run_page.headline import headline_answers
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Cell, Table, Tone, Value

TONES: dict[str, Tone] = {"supported": "", "partly": "warning", "guess": "severe"}


def verdicts_table(outcome: Outcome) -> Table:
    rows: list[list[Cell | Value]] = []
    rules = []
    chosen = {one.policy: one for one in headline_answers(outcome)}
    for policy in outcome.policies:
        if rows:
            rules.append(len(rows))
        answer, own = chosen.get(policy), outcome.of(policy)
        if answer is not None and len(own) > 1:
            who = " and ".join(f"{name} ({share:.0%})" for name, share in answer.methods.items())
            rows.append([policy, Cell("to go by", below=who), answer.value, *_told(answer.verdict)])
        rows += [_row(estimate) for estimate in own]
    return Table(["policy", "method", "estimate", "verdict", "expected error", "because"], rows, rules=rules)


def _row(estimate: Estimate) -> list[Cell | Value]:
    return [estimate.policy, estimate.method, estimate.value, *_told(estimate.verdict)]


def _told(verdict: Verdict | None) -> tuple[Cell, Cell, Cell]:
    if verdict is None:
        return Cell("–"), Cell("–"), Cell("")
    expected = "–" if verdict.share is None else f"{verdict.share:.0%}"
    return Cell(verdict.word, tone=TONES.get(verdict.word, "")), Cell(expected), Cell(verdict.reason)
