"""Two runs in the terminal."""

import io

from rich.console import Console

from ropeval.evaluation.compare_runs import Change, Compared
from ropeval.report.changes import print_changes


def test_what_moved_is_shown_with_its_interval():
    changes = [Change("p", "fqe", 10.0, 12.0, 2.0, -3.0, 7.0), Change("q", "fqe", None, 1.0, None, None, None)]
    written = io.StringIO()
    console = Console(file=written, width=80)
    print_changes(Compared(False, ["gamma: 0.9 before, 1.0 after"], changes), console)
    shown = written.getvalue()
    for words in ("NOT the same log", "note: gamma: 0.9 before", "-3…7", "diverged", "–"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80
