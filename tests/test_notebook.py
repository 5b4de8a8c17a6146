"""Progress in Python: where it is asked for, and by itself in a notebook."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import ropeval
from ropeval import notebook

ROWS = [{"obs": [t / 10], "action": t % 2, "pscore": 0.5, "reward": float(t % 2)} for t in range(30)]


def ones(observations):
    return np.ones(len(observations), int)


@pytest.fixture
def shown(monkeypatch):
    """What a terminal on standard error shows."""
    console = Console(file=StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr("ropeval.cli.screen.stderr", lambda: console)
    return console.file


@pytest.fixture
def cell(monkeypatch):
    """What stands below the cell of a notebook, one thing after the other."""
    display = pytest.importorskip("IPython.display", reason="IPython is not installed")
    held: list[dict[str, str]] = []

    class Handle:
        def update(self, content, raw):
            held.append(content)

    monkeypatch.setattr(display, "display", lambda content, raw, display_id: Handle())
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    return held


def test_a_bar_is_shown_where_it_is_wanted(shown):
    log = ropeval.load_dataset(ROWS, {"terminations": "always"})
    ropeval.evaluate(log, ones, "wis", gamma=0)
    assert shown.getvalue() == ""
    ropeval.compare(log, {"mine": ones}, "wis", gamma=0, progress=True)
    assert "preparing" in shown.getvalue()
    assert "mine  wis" in shown.getvalue()


def test_in_a_notebook_it_is_below_the_cell_until_the_work_is_done(shown, cell):
    log = ropeval.load_dataset(ROWS, {"terminations": "always"})
    ropeval.evaluate(log, ones, "wis", gamma=0, progress=False)
    assert cell == []
    ropeval.compare(log, {"<b>": ones}, "wis", gamma=0)
    assert cell[-2:] == [
        {"text/plain": "<b>  wis  100%", "text/html": '<progress value="1.00"></progress> &lt;b&gt;  wis  100%'},
        {"text/plain": ""},
    ]
    assert shown.getvalue() == ""


def test_own_reports_are_not_disturbed(shown):
    told = []
    log = ropeval.load_dataset(ROWS, {"terminations": "always"})
    ropeval.compare(log, {"ones": ones}, "wis", gamma=0, progress=True, report=lambda *a: told.append(a))
    assert told
    assert shown.getvalue() == ""


def test_this_is_no_notebook():
    assert not notebook.in_notebook()
