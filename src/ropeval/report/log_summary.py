"""A log in the terminal: its numbers, a histogram of its returns, and what looks wrong."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from ropeval.data.quality import Ranges, Summary
from ropeval.report.table import Table, Value
from ropeval.report.typeset import to_terminal

BARS = 12  # of a histogram
WIDTH = 40  # characters of its longest bar
EIGHTHS = " ▏▎▍▌▋▊▉"
SHOWN_COLUMNS = 40
RANGES, TAKEN = ["column", "min", "max", "mean", "std"], ["action", "steps", "share"]


def print_summary(name: str, kind: str, summary: Summary, console: Console) -> None:
    console.print(f"[bold]{escape(name)}[/bold]  {escape(kind)}", highlight=False)
    for label, text in _facts(summary):
        _line(console, label, text)
    for table in columns_tables(summary):
        console.print(Padding(to_terminal(table), (0, 0, 0, 2)), highlight=False)
    if summary.constant:
        _line(console, "never change", ", ".join(summary.constant))
    if summary.equal:
        _line(console, "are the same", ", ".join(f"{a} = {b}" for a, b in summary.equal))
    console.print("undiscounted returns of the episodes", style="dim")
    for row in histogram(summary.returns):
        console.print(row, highlight=False, markup=False)
    for warning in summary.warnings:
        console.print(f"! {warning}", highlight=False, markup=False, style="yellow")


def _facts(summary: Summary) -> list[tuple[str, str]]:
    n, r = summary.lengths, summary.returns
    ends = f"{summary.terminated:,} terminated, {summary.truncated:,} truncated"
    fitted = "none: methods that weight by them fit the behaviour first"
    return [
        ("steps", f"{summary.steps:,} in {summary.episodes:,} episodes"),
        ("episode length", f"{n.min():,} … {n.max():,}, median {np.median(n):,.0f}, mean {n.mean():,.1f}"),
        ("ends", ends + (f", {summary.open:,} with neither flag" if summary.open else "")),
        ("rewards", _range(summary.rewards)),
        ("returns", f"{r.min():.4g} … {r.max():.4g}, mean {r.mean():.4g}, median {np.median(r):.4g}"),
        ("log_probs", _range(summary.log_probs) if summary.log_probs else fitted),
    ]


def facts_table(summary: Summary, name: str) -> Table:
    return Table([name, ""], _facts(summary), left=2)


def histogram(values: NDArray[np.floating]) -> list[str]:
    """Lines of a horizontal histogram, in eighths of a character."""
    counts, edges = np.histogram(values, min(BARS, len(np.unique(values))))
    lines = []
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        eighths = round(8 * WIDTH * count / counts.max())
        bar = "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
        lines.append(f"{low:>11.4g} … {high:<11.4g} {bar} {count:,}")
    return lines


def summary_json(name: str, kind: str, summary: Summary, notices: tuple[str, ...]) -> dict[str, Any]:
    actions = summary.actions
    return {
        "log": name,
        "format": kind,
        "steps": summary.steps,
        "episodes": summary.episodes,
        "lengths": _spread(summary.lengths),
        "ends": {"terminated": summary.terminated, "truncated": summary.truncated, "neither": summary.open},
        "rewards": _json(summary.rewards),
        "returns": _spread(summary.returns),
        "observations": _json(summary.observations),
        "actions": _json(actions) if isinstance(actions, Ranges) else {"counts": actions.tolist()},
        "log_probs": _json(summary.log_probs) if summary.log_probs else None,
        "names": {"observations": summary.labels[0], "actions": summary.labels[1]},
        "constant": summary.constant,
        "equal": [list(pair) for pair in summary.equal],
        "notices": list(notices),
        "warnings": summary.warnings,
    }


def _spread(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}


def _json(ranges: Ranges) -> dict[str, list[float]]:
    named = {"min": ranges.low, "max": ranges.high, "mean": ranges.mean, "std": ranges.std}
    return {name: values.tolist() for name, values in named.items()}


def _line(console: Console, label: str, text: str) -> None:
    console.print(f"  {label:<15}{text}", highlight=False, markup=False)


def _range(ranges: Ranges) -> str:
    """Of its only column."""
    return f"{ranges.low[0]:.4g} … {ranges.high[0]:.4g}, mean {ranges.mean[0]:.4g}, std {ranges.std[0]:.4g}"


def columns_tables(summary: Summary) -> list[Table]:
    """Ranges of what is a number; and how often each action was taken, where they are choices."""
    observations, actions = summary.labels
    rows = _ranges(observations, summary.observations)
    if isinstance(summary.actions, Ranges):
        return [Table(RANGES, rows + _ranges(actions, summary.actions), left=1)]
    taken: list[list[Value]] = [
        [actions[action], f"{count:,}", f"{count / summary.steps:.1%}"]
        for action, count in enumerate(summary.actions[:SHOWN_COLUMNS])
    ]
    return [Table(RANGES, rows, left=1), Table(TAKEN, taken + _more(len(summary.actions), len(TAKEN)), left=1)]


def _ranges(labels: list[str], ranges: Ranges) -> list[list[Value]]:
    columns = zip(labels, ranges.low, ranges.high, ranges.mean, ranges.std, strict=True)
    rows: list[list[Value]] = [[label, *(f"{v:.4g}" for v in values)] for label, *values in columns]
    return rows[:SHOWN_COLUMNS] + _more(len(rows), len(RANGES))


def _more(count: int, width: int) -> list[list[Value]]:
    return [[f"… {count - SHOWN_COLUMNS} more", *[""] * (width - 1)]] if count > SHOWN_COLUMNS else []
