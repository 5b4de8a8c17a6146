"""Progress bars, on standard error, so that standard output stays clean."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from ropeval.interrupts import stop_if_pressed
from ropeval.words import clean

if TYPE_CHECKING:
    from ropeval.bench.data.streams import Stream
    from ropeval.evaluation.lanes import Report
    from ropeval.evaluation.methods import Method
    from ropeval.policies import Policy


def escape(name: str) -> str:
    """A name as a bar shows it: neither markup nor commands to the terminal."""
    return escape_markup(clean(name))


def percent_bar(console: Console, transient: bool = True) -> Progress:
    """What is done, how much of it, since when, and how long it will take. A long name gives way, the time does not."""
    return Progress(
        *_name_and_bar(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(), console=console, transient=transient, expand=True,
    )  # fmt: skip


def _name_and_bar() -> tuple[TextColumn, BarColumn]:
    """They share what the other columns leave."""
    name = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=4))
    return name, BarColumn(bar_width=None, table_column=Column(ratio=1))


@contextmanager
def questions_progress(questions: "Sequence[tuple[Policy, Method]]", console: Console) -> "Iterator[Report]":
    """Yields the function that a session reports to."""
    with percent_bar(console) as bar:
        task = bar.add_task("preparing", total=1.0)
        yield told(questions, lambda share, words: bar.update(task, completed=share, description=escape(words)))


def told(questions: "Sequence[tuple[Policy, Method]]", show: Callable[[float, str], None]) -> "Report":
    """The function that a session reports to: it shows the share of the work that is done, and what is being done. A
    question's stages share its part of the whole; another, which nobody could foresee, tells its own share in words."""
    stages = [list(method.stages) for _, method in questions]
    weights = [list(method.stages.values()) for _, method in questions]
    total = max(1, sum(map(sum, weights)))
    done = [0.0] * len(questions)  # they need not be answered in their order

    def report(number: int, stage: str, fraction: float) -> None:
        stop_if_pressed()
        policy, method = questions[number]
        if stage == "done":
            done[number] = float(sum(weights[number]))
        elif stage in stages[number]:
            place = stages[number].index(stage)
            done[number] = sum(weights[number][:place]) + fraction * weights[number][place]
        share = "" if stage in stages[number] else f" {fraction:.0%}"
        note = "" if stage in ("done", method.name) else f" ({stage}{share})"
        show(sum(done) / total, f"{policy.name}  {method.name}{note}")

    return report


@contextmanager
def collecting_progress(title: str, console: Console) -> Iterator[Callable[["Stream"], None]]:
    """One bar per policy that plays, with its rate in steps; yields the function to report streams to."""
    with Progress(
        *_name_and_bar(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}"), TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(), TextColumn("left"), console=console, transient=True, expand=True,
    ) as bar:  # fmt: skip
        console.print(f"collecting {title}", highlight=False)
        bars: dict[str, TaskID] = {}
        started: dict[str, tuple[float, int]] = {}

        def report(stream: "Stream") -> None:
            stop_if_pressed()
            now = time.monotonic()
            if stream.name not in bars:
                bars[stream.name] = bar.add_task(
                    escape(stream.name), total=stream.wanted, unit=stream.unit, rate="", start=False
                )
            elif stream.name not in started:  # the first part came back: from here on the rate means something
                started[stream.name] = now, stream.steps
                bar.start_task(bars[stream.name])
            since, steps = started.get(stream.name, (now, 0))
            rate = f"{(stream.steps - steps) / (now - since):,.0f}/s" if now > since and not stream.finished else ""
            bar.update(bars[stream.name], completed=stream.done, rate=rate)

        yield report


@contextmanager
def training_progress(
    title: str, total: int, unit: str, console: Console
) -> Iterator[Callable[[int, dict[str, float]], None]]:
    with percent_bar(console, transient=False) as bar:
        task = bar.add_task(f"{escape(title)}  training", total=total)

        def report(done: int, line: dict[str, float]) -> None:
            stop_if_pressed()
            earned = f"return {line['return']:.4g} ± {line['return_se']:.2g}"
            bar.update(task, completed=done, description=f"{escape(title)}  {done:,} {unit}, {earned}")

        yield report
