"""One progress bar for a whole session, on standard error, so that standard output stays clean."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ropeval.evaluation.session import Report, Session


def stderr() -> Console:
    return Console(stderr=True)


@contextmanager
def session_progress(session: Session, console: Console) -> Iterator[Report]:
    """Yields the function that a session reports to. A question's stages share its part of the bar."""
    questions = session.questions
    stages = [list(method.configs) for _, method in questions]
    weights = [[getattr(m.configs[part], "steps", 0) for part in m.configs] for _, m in questions]
    total = max(1, sum(map(sum, weights)))
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        console=console, transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("preparing", total=total)

        def report(number: int, stage: str, fraction: float) -> None:
            policy, method = questions[number]
            before = sum(map(sum, weights[:number]))
            if stage == "done":
                inside = float(sum(weights[number]))
            else:
                place = stages[number].index(stage) if stage in stages[number] else 0
                inside = sum(weights[number][:place]) + fraction * weights[number][place]
            note = "" if stage in ("done", method.name) else f" ({stage})"
            bar.update(task, completed=before + inside, description=f"{escape(policy.name)}  {method.name}{note}")

        yield report
