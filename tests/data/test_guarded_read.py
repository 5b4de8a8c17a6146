"""Files that kill the library which reads them: a child dies of them, and we say so."""

import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest

from ropeval.data import guarded_read, load_dataset
from ropeval.data.formats import recognise
from ropeval.errors import UserError
from ropeval.files import locked

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


def test_what_a_killed_process_left_goes_and_what_another_uses_stays(sound, tmp_path, monkeypatch):
    place = tmp_path / "scratch"
    monkeypatch.setenv("TMPDIR", str(place))
    for name in ("ropeval-left", "ropeval-used", "ropeval-of-others"):
        (place / name / "log").mkdir(parents=True)
    (place / "ropeval-left.lock").touch()
    with locked(place / "ropeval-used.lock"):
        assert len(load_dataset(sound)) == 6
        assert sorted(path.name for path in place.iterdir()) == [
            "ropeval-of-others",
            "ropeval-used",
            "ropeval-used.lock",
        ]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are seen in /proc")
def test_the_child_of_a_killed_process_is_not_left_alone(tmp_path):
    """By itself it would go on for six seconds of work."""
    code = f"from ropeval.data import load_dataset; load_dataset({str(DAMAGED / 'circles.h5')!r})"
    reading = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)})
    while reading.poll() is None and not _reads(tmp_path):
        time.sleep(0.01)
    time.sleep(0.5)  # it begins to read
    reading.kill()
    reading.wait()
    until = time.monotonic() + 4
    while time.monotonic() < until and _reads(tmp_path):
        time.sleep(0.05)
    assert not _reads(tmp_path)


def _reads(place: Path) -> bool:
    """Whether a process has the folder among its arguments."""
    return any(str(place).encode() in _arguments(process) for process in Path("/proc").glob("[0-9]*/cmdline"))


def _arguments(process: Path) -> bytes:
    try:
        return process.read_bytes()
    except OSError:  # it is gone
        return b""
