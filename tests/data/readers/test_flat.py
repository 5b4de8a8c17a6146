"""Flat columns, cut into parts where episodes end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.data import Dataset
from ropeval.data.readers import flat
from ropeval.errors import UserError
from tests.data.test_dataset import lengths, random_log


def test_flags_that_the_user_says():
    said = flat.said_columns({"truncations": ["never"], "terminations": ["always"], "rewards": ["r"]}, 3)
    assert {name: values.tolist() for name, values in said.items()} == {
        "truncations": [False] * 3,
        "terminations": [True] * 3,
    }


@given(lengths, st.integers(0, 2**16), st.integers(1, 20))
def test_parts_hold_whole_episodes_and_together_all(sizes, seed, part):
    columns = random_log(sizes, seed)
    before, flat.PART = flat.PART, part
    try:
        steps = len(columns["rewards"])
        parts = list(flat.read_in_parts(lambda name, rows: columns[name][rows], list(columns), steps, {}, "log"))
    finally:
        flat.PART = before
    assert np.concatenate([np.diff(one.starts) for one in parts]).tolist() == sizes
    assert all(len(one) >= part for one in parts[:-1])
    assert Dataset.concatenate(parts).sha256 == Dataset.from_columns(columns).sha256


def test_where_episodes_have_ids_the_log_is_read_whole(columns, monkeypatch):
    monkeypatch.setattr(flat, "PART", 4)
    named = columns | {"episode_ids": np.arange(12) % 3, "terminations": np.zeros(12), "truncations": np.zeros(12)}
    (log,) = flat.read_in_parts(lambda name, rows: named[name][rows], list(named), 12, {}, "log")
    assert log.num_episodes == 3


def test_a_part_may_be_left_without_a_step_but_not_the_log(columns, monkeypatch):
    monkeypatch.setattr(flat, "PART", 3)
    del columns["next_observations"]
    columns["terminations"][:] = False

    def steps_of_parts(cut):
        columns["truncations"] = cut
        parts = flat.read_in_parts(lambda name, rows: columns[name][rows], list(columns), 12, {}, "log")
        return [len(part) for part in flat.with_steps(parts, "log")]

    assert steps_of_parts(np.arange(12) < 4) == [0, 7]  # four episodes of one step each, then one of eight
    with pytest.raises(UserError, match="log: no step has a known successor"):
        steps_of_parts(np.ones(12, bool))
