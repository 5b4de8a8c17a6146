"""Lanes: all that they find, and that one which fails ends the others."""

from threading import Event
from typing import Any

import pytest

from ropeval.evaluation.lanes import Lane, side_by_side


def piece(*numbers):
    return lambda report, aside: [(number, f"answer {number}") for number in numbers]


def test_all_that_the_lanes_find():
    lanes = [Lane("one", 2, [piece(0, 2), piece(4)]), Lane("other", 1, [piece(1), piece(3)])]
    found: dict[int, Any] = {**side_by_side(lanes, None)}
    assert found == {number: f"answer {number}" for number in range(5)}


def test_where_one_fails_the_other_ends_at_its_next_report_and_nothing_is_begun():
    began, ended, never = Event(), Event(), Event()

    def fails(report, aside):
        began.wait(10)
        raise ValueError("broken")

    def goes_on(report, aside):
        began.set()
        try:
            while True:
                report(0, "training", 0.5)
        finally:
            ended.set()

    def not_begun(report, aside):
        never.set()

    with pytest.raises(ValueError, match="broken"):
        side_by_side([Lane("one", 1, [fails]), Lane("other", 1, [goes_on, not_begun])], lambda *told: None)
    assert ended.is_set()
    assert not never.is_set()


def test_what_is_done_aside_is_heard_of_only_by_itself():
    done = Event()

    def lends(report, aside):
        aside(lambda told: 1 / 0)
        aside(lambda told: done.set())
        done.wait(10)
        return [(0, "answer")]

    assert list(side_by_side([Lane("one", 1, [lends])], None)) == [0]
    assert done.is_set()
