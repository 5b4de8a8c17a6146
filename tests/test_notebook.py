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


def test_a_bar_is_shown_where_it_is_wanted(shown, monkeypatch):
    log = ropeval.load_dataset(ROWS, {"terminations": "always"})
    ropeval.evaluate(log, ones, "wis", gamma=0)
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    ropeval.evaluate(log, ones, "wis", gamma=0, progress=False)
    assert shown.getvalue() == ""
    ropeval.evaluate(log, ones, "wis", gamma=0)
    assert "preparing" in shown.getvalue()
    monkeypatch.setattr(notebook, "in_notebook", lambda: False)
    ropeval.compare(log, {"mine": ones}, "wis", gamma=0, progress=True)
    assert "mine  wis" in shown.getvalue()


def test_own_reports_are_not_disturbed(shown):
    told = []
    log = ropeval.load_dataset(ROWS, {"terminations": "always"})
    ropeval.compare(log, {"ones": ones}, "wis", gamma=0, progress=True, report=lambda *a: told.append(a))
    assert told
    assert shown.getvalue() == ""


def test_this_is_no_notebook():
    assert not notebook.in_notebook()
