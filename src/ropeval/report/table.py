"""Results as one table in the terminal, with the warnings in full below it."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ropeval.evaluation.rank import Truth
from ropeval.evaluation.result import Estimate, Ranking


def print_results(results: Sequence[Estimate], console: Console, truth: Truth | None = None) -> None:
    """One row per policy and method; numbers in the last column point at the sentences below."""
    sentences = list(dict.fromkeys(w for r in results for w in r.warnings))
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("policy", overflow="fold", min_width=10)
    table.add_column("method", no_wrap=True)
    for heading in ("estimate", _interval_heading(results), *(("true\nvalue", "error") if truth else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("warnings", min_width=8)
    last = None
    for r in results:
        if last not in (None, r.policy):
            table.add_section()
        name = f"{escape(r.policy)}\n[dim]{r.policy_kind}[/dim]" if r.policy != last else ""
        last = r.policy
        estimate = "[red]diverged[/red]" if r.value is None else number(r.value)
        known = _truth_cells(r, truth) if truth else ()
        notes = " ".join(f"[yellow]{sentences.index(w) + 1}[/yellow]" for w in r.warnings)
        table.add_row(name, escape(r.method), estimate, _spread(r), *known, notes)
    console.print(table)
    console.print()
    for place, sentence in enumerate(sentences, start=1):
        console.print(f"[yellow]{place}[/yellow]  {escape(sentence)}", soft_wrap=True)


def _truth_cells(result: Estimate, truth: Truth) -> tuple[str, str]:
    true = truth.get(result.policy)
    if true is None:
        return "–", "–"
    if result.value is None:
        return number(true), "–"
    error = result.value - true
    relative = f" ({abs(error / true):.0%})" if true else ""
    return number(true), f"{error:+.3g}{relative}" if abs(error) < 1e4 else f"{error:+,.0f}{relative}"


def print_ranking(rankings: Sequence[Ranking], console: Console) -> None:
    """How probable it is that each policy is the best of them, by method; and the scores where the truth is known."""
    if not rankings:
        return
    policies = list(dict.fromkeys(name for ranking in rankings for name in ranking.policies))
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("probability of being the best", overflow="fold", min_width=10)
    for ranking in rankings:
        table.add_column(escape(ranking.method), justify="right")
    for policy in policies:
        chances = [dict(zip(r.policies, r.best, strict=True)).get(policy) if r.replicates else None for r in rankings]
        table.add_row(escape(policy), *("–" if chance is None else f"{chance:.0%}" for chance in chances))
    scores = list(dict.fromkeys(name for ranking in rankings for name in ranking.truth or {}))
    if scores:
        table.add_section()
    for score in scores:
        cells = [(ranking.truth or {}).get(score) for ranking in rankings]
        table.add_row(f"[dim]{score}[/dim]", *("–" if cell is None else number(cell) for cell in cells))
    console.print(table)
    console.print()


def _interval_heading(results: Sequence[Estimate]) -> str:
    levels = {r.interval.level for r in results if r.interval is not None}
    return f"{100 * levels.pop():.4g}% interval" if len(levels) == 1 else "interval" if levels else "members"


def _spread(result: Estimate) -> str:
    if result.interval is not None:
        return f"{number(result.interval.low)}…{number(result.interval.high)}"
    if result.low is None or result.high is None or len(result.members) < 2:
        return "–"
    return f"{number(result.low)}…{number(result.high)}"


def number(value: float) -> str:
    """Four digits, without exponents where people would not write one."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
