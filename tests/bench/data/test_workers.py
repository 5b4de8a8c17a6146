"""What a worker plays and writes, without a process; and what the processes inherit."""

import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.workers import ONE_THREAD, Recipe, play_part, worker_pool
from ropeval.files import read_npz

RECIPE = Recipe("Pendulum-v1", LocatedPolicy("uniform", None), seed=0, stream="x", max_steps=6)


def test_a_part_is_what_its_numbers_say_however_the_stream_is_cut(tmp_path):
    whole = play_part(RECIPE, 0, 3, tmp_path / "whole.npz")
    parts = [play_part(RECIPE, *cut, tmp_path / f"{cut[0]}.npz") for cut in ((0, 1), (1, 3))]
    assert whole.lengths.tolist() == [6, 6, 6]
    columns, halves = read_npz(whole.path), [read_npz(part.path) for part in parts]
    for name, values in columns.items():
        np.testing.assert_array_equal(values, np.concatenate([half[name] for half in halves]))


def test_with_a_discount_only_sums_are_kept(tmp_path):
    part = play_part(replace(RECIPE, gamma=0.5), 0, 2, tmp_path / "sums.npz")
    rewards = read_npz(play_part(RECIPE, 0, 2, tmp_path / "rows.npz").path)["rewards"].reshape(2, 6)
    sums = read_npz(part.path)["summaries"]
    np.testing.assert_allclose(sums[:, 0], rewards @ 0.5 ** np.arange(6), rtol=1e-5)
    np.testing.assert_allclose(sums[:, 1], rewards.sum(axis=1), rtol=1e-5)
    assert sums[:, 2].tolist() == part.lengths.tolist() == [6, 6]


@pytest.mark.parametrize("before", [None, "7"])
def test_workers_have_one_thread_and_the_caller_is_left_as_it_was(monkeypatch, before):
    script = sys.modules["__main__"]
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False) if before is None else monkeypatch.setenv(name, before)
    with worker_pool(3) as pool:  # nothing is played: no process starts
        assert pool.processes == 3
        assert [os.environ[name] for name in ONE_THREAD] == ["1"] * 3
        assert sys.modules["__main__"] is not script
    assert [os.environ.get(name) for name in ONE_THREAD] == [before] * 3
    assert sys.modules["__main__"] is script
