"""A log in the terminal."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ropeval.data import Dataset
from ropeval.data.quality import summarise
from ropeval.report.log_summary import SHOWN_COLUMNS, WIDTH, columns_tables, histogram, print_summary, summary_json


@pytest.fixture
def summary(columns):
    return summarise(Dataset.from_columns(columns))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_a_histogram_counts_everyone_and_its_longest_bar_fills_the_width(values):
    lines = histogram(np.array(values))
    assert sum(int(line.rsplit(" ", 1)[1].replace(",", "")) for line in lines) == len(values)
    assert max(line.count("█") for line in lines) == WIDTH


def test_what_is_printed_is_what_is_there(summary):
    shown = io.StringIO()
    console = Console(file=shown, width=120)
    print_summary("[red]log.npz", ".npz", summary, console)
    text = shown.getvalue()
    assert "[red]log.npz" in text  # a name is no markup
    assert "12 in 3 episodes" in text
    assert "4 … 4, median 4, mean 4.0" in text
    assert "1 terminated, 2 truncated" in text
    assert "none: methods that weight by them fit the behaviour first" in text


def test_as_json_nothing_is_lost(summary, columns):
    found = json.loads(json.dumps(summary_json("log", ".npz", summary, ("a notice",))))
    assert (found["steps"], found["episodes"], found["notices"]) == (12, 3, ["a notice"])
    assert found["observations"]["min"] == pytest.approx(columns["observations"].min(axis=0).tolist())
    assert found["lengths"] == {"min": 4.0, "max": 4.0, "mean": 4.0}
    assert found["ends"] == {"terminated": 1, "truncated": 2, "neither": 0}


def test_of_many_columns_the_first_are_shown(columns):
    wide = {k: np.repeat(columns[k], 20, axis=1) for k in ("observations", "next_observations")}
    [table] = columns_tables(summarise(Dataset.from_columns(columns | wide)))
    rows = table.rows
    assert rows[SHOWN_COLUMNS][0] == "… 20 more"
    assert rows[SHOWN_COLUMNS + 1][0] == "actions[0]"


def test_discrete_actions_are_counted(columns):
    log = Dataset.from_columns(columns | {"actions": np.array([0] * 9 + [1] * 3)}).named(actions=["none", "some"])
    ranges, taken = columns_tables(summarise(log))
    assert {str(row[0])[:12] for row in ranges.rows} == {"observations"}
    assert (taken.columns, taken.rows) == (
        ["action", "steps", "share"],
        [["none", "9", "75.0%"], ["some", "3", "25.0%"]],
    )
