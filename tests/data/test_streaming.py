"""Logs that do not fit into memory: taken in windows, kept in scratch files."""

import os

import numpy as np
import pytest

from ropeval.data import streaming
from ropeval.data.streaming import Pairs, spill, take
from ropeval.errors import UserError


@pytest.mark.parametrize("stays", [0, 1 << 20])
def test_rows_are_taken_in_any_order_and_more_than_once(tmp_path, monkeypatch, stays):
    """Of a column that is given back window by window, and of one that stays."""
    monkeypatch.setattr(streaming, "WINDOW", 256)
    monkeypatch.setattr(streaming, "STAYS", stays)
    values = np.random.default_rng(0).standard_normal((1000, 3)).astype(np.float32)
    np.save(tmp_path / "a.npy", values)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    rows = np.random.default_rng(1).integers(1000, size=5000)
    np.testing.assert_array_equal(take(mapped, rows), values[rows])
    np.testing.assert_array_equal(take(mapped, slice(3, 999, 7)), values[3:999:7])
    np.testing.assert_array_equal(take(mapped, rows[:0]), values[:0])


def test_a_scratch_file_has_no_name_and_a_full_disk_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    blocks = [np.arange(6).reshape(2, 3), np.arange(3).reshape(1, 3)]
    np.testing.assert_array_equal(spill(iter(blocks)), np.concatenate(blocks))
    assert not os.listdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="set TMPDIR"):
        spill(iter(blocks))


def test_pairs_lead_with_the_first_draw():
    rng = np.random.default_rng(0)
    pairs = Pairs(rng.standard_normal((5, 2), np.float32), rng.integers(3, size=(5, 4)), np.zeros(2), np.ones(2), 3)
    assert pairs.shape == (5, 4, 5)
    np.testing.assert_array_equal(pairs.first_draw()[:], pairs[:][:, :1])
    np.testing.assert_array_equal(np.asarray(pairs), pairs[:])
