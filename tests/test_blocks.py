"""Blocks of a log, looked at side by side: in order, once each, and no further than asked."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval import blocks as module
from ropeval.blocks import blocks, in_order


@given(rows=st.integers(0, 60), size=st.integers(1, 20))
def test_every_row_is_in_one_block(rows, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", size)
        parts = blocks(rows)
    assert [row for part in parts for row in range(rows)[part]] == list(range(rows))
    assert all(part.stop - part.start <= size for part in parts)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_what_is_found_comes_in_the_order_of_the_parts(count, monkeypatch):
    """Although the first ones wait for a later one."""
    monkeypatch.setattr(module, "cores", lambda: 2)
    later = threading.Event()

    def look(part):
        if part % 2 == 0 and part + 1 < count:
            assert later.wait(10)
        later.set()
        return part * 10

    assert list(in_order(look, list(range(count)))) == [10 * part for part in range(count)]


def test_no_more_is_made_than_can_be_held(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 64)
    made = []

    def look(part):
        made.append(part)
        return part

    for part in in_order(look, list(range(100))):
        assert len(made) <= part + module.AT_ONCE + 1
        if part == 3:
            break
    assert len(made) <= 3 + module.AT_ONCE + 1


def test_what_goes_wrong_in_a_block_is_told_where_it_is_asked_for():
    def look(part):
        if part == 3:
            raise ValueError("damaged")
        return part

    found = in_order(look, list(range(8)))
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(found)


def test_sums_are_those_of_one_thread(monkeypatch):
    values = np.random.default_rng(0).normal(size=10_000)
    parts = [slice(start, start + 100) for start in range(0, 10_000, 100)]
    one = sum(values[part].sum() for part in parts)
    for cores in (1, 2, 7):
        monkeypatch.setattr(module, "cores", lambda many=cores: many)
        assert sum(in_order(lambda part: values[part].sum(), parts)) == one
