"""Files are there whole or not at all, and a lock ends with whoever holds it."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from ropeval.errors import UserError
from ropeval.files import (
    locked,
    put_folder,
    remove_leftovers,
    scratch_folder,
    sole_writer,
    write_alone,
    write_parquet,
    write_text,
)

HOLD = "import sys, time; from pathlib import Path; from ropeval.files import locked\n"
HOLD += "with locked(Path(sys.argv[1])) as ours: print(ours, flush=True); time.sleep(60)"


def test_one_at_a_time_and_nothing_is_left_behind(tmp_path):
    path = tmp_path / "new" / ".lock"
    with locked(path) as first, locked(path) as second:
        assert (first, second) == (True, False)
    assert not path.exists()
    with locked(path) as again:
        assert again


@pytest.mark.process
def test_the_lock_of_a_dead_process_is_no_obstacle(tmp_path):
    path = tmp_path / ".lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "True"
    with locked(path) as ours:
        assert not ours
    process.kill()
    process.communicate()
    assert path.exists()
    with locked(path) as ours:
        assert ours


def test_a_lock_that_was_removed_meanwhile_locks_nothing(tmp_path, monkeypatch):
    """Its holder removes it between our opening and our locking it: a third process would make a new one."""
    path, opened = tmp_path / ".lock", Path.open
    path.touch()

    def removed_once(self, *arguments):
        file = opened(self, *arguments)
        monkeypatch.setattr(Path, "open", opened)
        os.remove(path)
        return file

    monkeypatch.setattr(Path, "open", removed_once)
    with locked(path) as ours, locked(path) as third:
        assert (ours, third) == (True, False)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(UserError, match="cannot be written"), locked(tmp_path / ("x" * 300) / ".lock"):
        pass


def test_only_what_was_left_behind_is_removed(tmp_path):
    write_text(tmp_path / "result.json", "[]")
    kept = {"result.json", ".result.json.bak", ".other.json.abcdefgh.json"}
    for name in (*kept, ".result.json.abcd_f1h.json"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path, ["result.json"])
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_locking_does_not_wait(tmp_path, monkeypatch):
    """By itself a lock of the operating system waits, here for ever; and who tries again and again would sleep."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    with locked(tmp_path / ".lock"), locked(tmp_path / ".lock") as second:
        assert not second


def test_a_full_disk_is_a_full_disk_to_parquet_too(tmp_path, monkeypatch):
    """polars by itself would call the file damaged."""

    def full(path, content):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    write_parquet(tmp_path / "a [1].parquet", polars.DataFrame({"a": [1, 2]}))
    assert [path.name for path in tmp_path.iterdir()] == ["a [1].parquet"]
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="the disk is full"):
        write_parquet(tmp_path / "b.parquet", polars.DataFrame({"a": [1, 2]}))
    assert [path.name for path in tmp_path.iterdir()] == ["a [1].parquet"]


def test_a_second_writer_is_refused_or_waits_and_a_killed_ones_leavings_go(tmp_path):
    target, other = tmp_path / "o[1].npz", ".o1.npz.abcdefgh.npz"
    for name in (".o[1].npz.abcdefgh.npz", other):
        (tmp_path / name).touch()
    (scratch_folder(target) / "rewards.npy").touch()
    with sole_writer(target):
        assert {path.name for path in tmp_path.iterdir()} == {".o[1].npz.lock", other}
        with pytest.raises(UserError, match="another process is writing it"), sole_writer(target, patience=0.1):
            pass
    assert [path.name for path in tmp_path.iterdir()] == [other]


def test_a_text_is_written_and_what_a_killed_writer_of_it_left_goes(tmp_path):
    for name in (".card.html.abcdefgh.html", ".card.html.lock"):
        (tmp_path / name).touch()
    write_alone(tmp_path / "card.html", "whole")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("card.html", "whole")]


def test_a_folder_that_was_put_aside_comes_back(tmp_path, monkeypatch):
    """Killed between the two renames that replace a folder by another."""
    target, made, rename = tmp_path / "o", tmp_path / "new", Path.rename
    for folder in (target, made):
        folder.mkdir()
        (folder / f"{folder.name}.npy").touch()

    def killed(self, place):
        if self == made:
            raise KeyboardInterrupt
        return rename(self, place)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        put_folder(made, target)
    assert not target.exists()
    monkeypatch.setattr(Path, "rename", rename)
    with sole_writer(target):
        assert (target / "o.npy").exists()
        put_folder(made, target)
    assert [path.name for path in target.iterdir()] == ["new.npy"]
    assert [path.name for path in tmp_path.iterdir()] == ["o"]
