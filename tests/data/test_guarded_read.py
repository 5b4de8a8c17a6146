"""Files that kill the library which reads them: a child dies of them, and we say so."""

from pathlib import Path

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


def test_a_sound_file_is_read_after_its_trial(tmp_path):
    rows = {"observations": np.arange(6.0), "actions": np.zeros(6), "rewards": np.ones(6)}
    ends = {"terminations": [False, True] * 3, "truncations": [False] * 6}
    pl.DataFrame(rows | ends).write_parquet(tmp_path / "log.parquet")
    assert recognise(tmp_path / "log.parquet").format.foreign
    log = load_dataset(tmp_path / "log.parquet")
    np.testing.assert_array_equal(log.observations[:, 0], np.arange(6.0))
    assert log.num_episodes == 3


def test_what_the_trial_finds_wrong_is_said_as_always(tmp_path):
    pl.DataFrame({"observations": [1.0]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(UserError, match="rewards"):
        load_dataset(tmp_path / "log.parquet")
