"""What Python shows: tables and progress, in a notebook or printed. How they look is known to others, who are asked
when it is needed."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ropeval.words import clean

if TYPE_CHECKING:
    from ropeval.evaluation.lanes import Report
    from ropeval.evaluation.methods import Method
    from ropeval.policies import Policy


class ShownInNotebook:
    def _repr_html_(self) -> str:
        from ropeval.report.notebook import to_notebook

        return to_notebook(self)


class ShownAsTables(ShownInNotebook):
    """Estimates and rankings, printed as `ropeval evaluate` prints them."""

    estimates: list[Any]
    rankings: list[Any]
    truth: Any

    def __repr__(self) -> str:
        from ropeval.report.terminal import comparison_text

        return comparison_text(self.estimates, self.rankings, self.truth)


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    kernel = sys.modules.get("IPython")
    shell = kernel.get_ipython() if kernel is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def progress_bar(wanted: bool | None, questions: "Sequence[tuple[Policy, Method]]") -> "Iterator[Report | None]":
    """A bar to report to: below the cell of a notebook, or on standard error; None where it is not wanted. Who does not
    say wants one in a notebook."""
    if not (in_notebook() if wanted is None else wanted):
        yield None
        return
    from ropeval.cli.progress import questions_progress, told
    from ropeval.cli.screen import stderr

    if in_notebook():
        with _bar_below_the_cell() as show:
            yield told(questions, show)
    else:
        with questions_progress(questions, stderr()) as report:
            yield report


@contextmanager
def _bar_below_the_cell() -> Iterator[Callable[[float, str], None]]:
    """One that needs no widgets, and is gone when the work is done."""
    from IPython.display import display

    bar = display({"text/plain": ""}, raw=True, display_id=True)
    seen = ""

    def show(share: float, words: str) -> None:
        nonlocal seen
        line = f"{clean(words)}  {share:.0%}"
        if line != seen:
            html = f'<progress value="{share:.2f}"></progress> {escape(line)}'
            bar.update({"text/plain": line, "text/html": html}, raw=True)
        seen = line

    try:
        yield show
    finally:
        bar.update({"text/plain": ""}, raw=True)
