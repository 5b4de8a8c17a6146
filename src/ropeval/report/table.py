"""Results as one table in the terminal, with the warnings in full below it."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ropeval.evaluation.result import Estimate

Truth = Mapping[str, float]  # policy -> true value


def print_results(results: Sequence[Estimate], console: Console, truth: Truth | None = None) -> None:
    """One row per policy and method; numbers in the last column point at the sentences below."""
    sentences = list(dict.fromkeys(w for r in results for w in r.warnings))
    table = Table(header_style="bold")
    table.add_column("policy", overflow="fold")
    table.add_column("method", overflow="fold", no_wrap=True)
    for heading in ("estimate", "members", *(("true value", "error") if truth else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("warnings")
    last = None
    for r in results:
        if last not in (None, r.policy):
            table.add_section()
        name = f"{escape(r.policy)}\n[dim]{r.policy_kind}[/dim]" if r.policy != last else ""
        last = r.policy
        estimate = "[red]diverged[/red]" if r.value is None else _number(r.value)
        known = _truth_cells(r, truth) if truth else ()
        notes = " ".join(f"[yellow]{sentences.index(w) + 1}[/yellow]" for w in r.warnings)
        table.add_row(name, escape(r.method), estimate, r.spread, *known, notes)
    console.print(table)
    for number, sentence in enumerate(sentences, start=1):
        console.print(f"[yellow]{number}[/yellow]  {escape(sentence)}", soft_wrap=True)


def _truth_cells(result: Estimate, truth: Truth) -> tuple[str, str]:
    true = truth.get(result.policy)
    if true is None:
        return "–", "–"
    if result.value is None:
        return _number(true), "–"
    error = result.value - true
    return _number(true), f"{error:+.4g} ({abs(error) / abs(true):.0%})" if true else f"{error:+.4g}"


def _number(value: float) -> str:
    return f"{value:.5g}"
