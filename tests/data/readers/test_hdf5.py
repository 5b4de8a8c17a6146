"""D4RL's flat HDF5, and d3rlpy's first form of it."""

import h5py
import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.data.readers.hdf5 import column
from ropeval.errors import UserError
from tests.data import logs

pytestmark = pytest.mark.usefixtures("read_here")


def test_d4rl_without_next_observations_drops_what_has_no_successor(tmp_path):
    columns = logs.make_columns()
    del columns["next_observations"]
    log = load_dataset(logs.write_d4rl(tmp_path, columns))
    assert len(log) == 10
    assert "2 of 12 steps were dropped" in log.notices[0]


def test_d4rl_keeps_the_behaviours_probabilities(tmp_path):
    path = logs.write_d4rl(tmp_path, logs.make_columns())
    with h5py.File(path, "a") as file:
        file["infos/action_log_probs"] = -np.arange(12.0)
    np.testing.assert_array_equal(load_dataset(path).log_probs, -np.arange(12))


def test_d3rlpys_first_format_marks_the_ends_of_episodes(tmp_path):
    columns = logs.make_columns()
    path = tmp_path / "old.h5"
    with h5py.File(path, "w") as file:
        for key in ("observations", "actions", "rewards"):
            file[key] = columns[key]
        file["terminals"] = columns["terminations"].astype(np.float32)
        file["episode_terminals"] = (columns["terminations"] | columns["truncations"]).astype(np.float32)
    log = load_dataset(path)
    assert (len(log), int(log.terminations.sum())) == (10, 1)


def test_a_column_asked_of_a_dataset_is_missing_and_no_value_is_looked_at(tmp_path):
    """Found by fuzzing: `episode_0` was a dataset of a million values, and all were read one by one for the message."""
    with h5py.File(tmp_path / "log.h5", "w") as file:
        episode = file.create_dataset("episode_0", data=np.zeros(3))
        with pytest.raises(UserError, match="rewards is missing, not a column; found nothing"):
            column(episode, "rewards", "log.h5")


def test_a_frame_of_pandas_says_how_to_write_it(tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.attrs["PYTABLES_FORMAT_VERSION"] = "2.1"
        file.create_group("log")
    with pytest.raises(UserError, match="pandas wrote this with to_hdf; write the frame with to_parquet"):
        load_dataset(tmp_path / "log.h5", {"observations": "age"})
