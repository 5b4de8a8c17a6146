"""A run's results in the terminal: one table, the warnings in full below it, and who is probably the best."""

import io
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from ropeval.evaluation.rank import Truth
from ropeval.evaluation.result import SEVERITIES, Estimate, Ranking, Severity
from ropeval.report.by_group import groups_table
from ropeval.report.labels import number, shown
from ropeval.report.narrow import fitted
from ropeval.report.palette import SEVERITY_SIGNS
from ropeval.report.risk import print_risk
from ropeval.report.run_page.headline import best_first, headline_answers
from ropeval.report.run_page.outcome import Outcome
from ropeval.report.table import Cell, Table, Tone, Value
from ropeval.report.typeset import TONES, to_terminal
from ropeval.report.versus import HEADING, versus_cell
from ropeval.words import clean

MOST_ANSWERS = 10  # policies, the best first
TEXT_WIDTH = 100  # columns, where no terminal says how many there are


def print_results(results: Sequence[Estimate], console: Console, truth: Truth | None = None) -> None:
    """One row per policy and method, the best policy first; numbers in the last column point at the sentences below."""
    results = best_first(results)
    told = spoken_against(results)
    console.print(fitted(results_table(results, list(told), truth), console))
    console.print()
    print_answers(results, console)
    for place, (sentence, severity) in enumerate(told.items(), start=1):
        look = TONES[_tone(severity)]
        words = Text.assemble((f"{place} {SEVERITY_SIGNS[severity]} {severity}", look), f"  {clean(sentence)}")
        console.print(words, soft_wrap=not console.is_terminal)  # one line each, where a program reads them


def print_answers(results: Sequence[Estimate], console: Console) -> None:
    """The one number to go by for each policy, where several methods were asked, and how far to rely on it."""
    if not any(r.verdict for r in results):
        return
    for one in headline_answers(Outcome(list(results)))[:MOST_ANSWERS]:
        interval = "" if one.low is None or one.high is None else f" ({number(one.low)} to {number(one.high)})"
        words = Text.assemble((f"{shown(one.policy)}: about {number(one.value)}{interval}", "bold"))
        words.append(f", by {' and '.join(one.methods)}")
        if one.verdict:
            words.append(f"; {one.verdict.sentence}")
        console.print(words, soft_wrap=not console.is_terminal)
    console.print()


def spoken_against(results: Sequence[Estimate]) -> dict[str, Severity]:
    """All sentences of the diagnoses, each once and the worst first, with how bad they are."""
    severities = {f.sentence: f.severity for r in results for f in r.diagnosis}
    told: dict[str, Severity] = {w: severities.get(w, "warning") for r in results for w in r.warnings}
    return dict(sorted(told.items(), key=lambda item: SEVERITIES.index(item[1])))


def _tone(severity: Severity) -> Tone:
    return "dim" if severity == "note" else severity


def print_groups(results: Sequence[Estimate], console: Console) -> None:
    """The value by group, where it was asked for."""
    table = groups_table(best_first(results))
    if table is not None:
        console.print(to_terminal(table))
        console.print()


def comparison_text(results: Sequence[Estimate], rankings: Sequence[Ranking], truth: Truth | None = None) -> str:
    """The same as plain text."""
    console = Console(file=io.StringIO(), width=TEXT_WIDTH, color_system=None)
    with console.capture() as captured:
        print_results(results, console, truth)
        print_risk(results, console)
        print_groups(results, console)
        print_ranking(rankings, console)
    return captured.get().rstrip()


def results_table(results: Sequence[Estimate], sentences: Sequence[str], truth: Truth | None = None) -> Table:
    severities = spoken_against(results)

    def row(r: Estimate, first: bool) -> list[Cell | Value]:
        name = Cell(r.policy, below=r.policy_kind) if first else ""
        estimate = Cell(r.without_value, tone="severe") if r.value is None else r.value
        known = _truth_cells(r, truth) if truth else (versus_cell(r),)
        places = sorted(sentences.index(w) + 1 for w in r.warnings)
        worst: Severity = min((severities[w] for w in r.warnings), key=SEVERITIES.index, default="note")
        return [name, _method(r), estimate, _spread(r), *known, Cell(" ".join(map(str, places)), tone=_tone(worst))]

    told = ("true\nvalue", "error") if truth else (HEADING,)
    columns = ["policy", "method", "estimate", _interval_heading(results), *told, "warnings"]
    by_policy = groupby(results, lambda r: r.policy)
    return Table.grouped(columns, [[row(r, i == 0) for i, r in enumerate(own)] for _, own in by_policy], left=2)


def _method(result: Estimate) -> Cell:
    """Its name, and below it how far it can be relied on, and how far the log speaks about what the policy does."""
    verdict = result.verdict.word if result.verdict else ""
    return Cell(result.method, below=", ".join(filter(None, [verdict, result.support_in_words])))


def _truth_cells(result: Estimate, truth: Truth) -> tuple[Value, str]:
    true = truth.get(result.policy)
    if true is None or result.value is None:
        return true, "–"
    error = result.value - true
    relative = f" ({abs(error / true):.0%})" if true else ""
    return true, f"{error:+.3g}{relative}" if abs(error) < 1e4 else f"{error:+,.0f}{relative}"


def print_ranking(rankings: Sequence[Ranking], console: Console) -> None:
    """How probable it is that each policy is the best of them, by method; and the scores where the truth is known."""
    if rankings:
        console.print(to_terminal(ranking_table(rankings)))
        console.print()


def ranking_table(rankings: Sequence[Ranking]) -> Table:
    policies = list(dict.fromkeys(name for ranking in rankings for name in ranking.policies))
    rows: list[list[Cell | Value]] = []
    for policy in policies:
        chances = [dict(zip(r.policies, r.best, strict=True)).get(policy) if r.replicates else None for r in rankings]
        rows.append([policy, *(None if chance is None else f"{chance:.0%}" for chance in chances)])
    scores = list(dict.fromkeys(name for ranking in rankings for name in ranking.truth or {}))
    told = [[Cell(score, tone="dim"), *((r.truth or {}).get(score) for r in rankings)] for score in scores]
    columns = ["probability of being the best", *(ranking.method for ranking in rankings)]
    return Table(columns, [*rows, *told], left=1, rules=[len(rows)] if scores else [])


def _interval_heading(results: Sequence[Estimate]) -> str:
    levels = {r.interval.level for r in results if r.interval is not None}
    return f"{100 * levels.pop():.4g}% interval" if len(levels) == 1 else "interval" if levels else "members"


def _spread(result: Estimate) -> str | None:
    if result.interval is not None:
        return f"{number(result.interval.low)}…{number(result.interval.high)}"
    if result.lowest is None or result.highest is None or len(result.members) < 2:
        return None
    return f"{number(result.lowest)}…{number(result.highest)}"
