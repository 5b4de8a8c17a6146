"""Files that kill the library which reads them: a child dies of them, and we say so."""

from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest

from ropeval.data import guarded_read, load_dataset
from ropeval.data.formats import recognise
from ropeval.errors import UserError

pytestmark = pytest.mark.process

DAMAGED = Path(__file__).parent / "damaged"  # found by the fuzzer


@pytest.mark.parametrize(("name", "words"), [("aborts.parquet", "died of it"), ("circles.h5", "without an end")])
def test_a_file_that_kills_or_hangs_its_library_is_refused(name, words, monkeypatch):
    monkeypatch.setattr(guarded_read, "SECONDS", 2)  # of processor time
    with pytest.raises(UserError, match=words) as caught:
        load_dataset(DAMAGED / name)
    assert name in str(caught.value)


def test_a_small_file_of_a_huge_log_is_refused_before_it_is_read_here(tmp_path, monkeypatch):
    """Columns that were never written, each of an honest size."""
    monkeypatch.setattr("ropeval.data.guarded_read.UNPACKED", 1 << 22)
    with h5py.File(tmp_path / "log.h5", "w") as file:
        for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
            file.create_dataset(name, (1 << 19, 1), "f4", chunks=(1 << 12, 1))
    with pytest.raises(UserError, match="would become a log of more than"):
        load_dataset(tmp_path / "log.h5")


@pytest.fixture
def sound(tmp_path) -> Path:
    rows = {"observations": np.arange(6.0), "actions": np.zeros(6), "rewards": np.ones(6)}
    ends = {"terminations": [False, True] * 3, "truncations": [False] * 6}
    pl.DataFrame(rows | ends).write_parquet(tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def test_a_sound_file_is_decoded_once_and_elsewhere(sound, tmp_path, monkeypatch):
    monkeypatch.setattr("ropeval.data.formats.Source.parts_here", lambda *_: pytest.fail("it is decoded here, too"))
    monkeypatch.setattr("ropeval.data.formats.HELD", 0)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    assert recognise(sound).format.foreign
    log = load_dataset(sound)
    assert isinstance(log.observations, np.memmap)
    assert not list((tmp_path / "scratch").iterdir())
    np.testing.assert_array_equal(log.observations[:, 0], np.arange(6.0))
    assert log.num_episodes == 3
    assert log.name == str(sound)


def test_no_room_for_a_scratch_file_is_no_reason_to_refuse_it(sound, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    assert load_dataset(sound).num_episodes == 3


def test_what_the_trial_finds_wrong_is_said_as_always(tmp_path):
    pl.DataFrame({"observations": [1.0]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(UserError, match="rewards"):
        load_dataset(tmp_path / "log.parquet")
