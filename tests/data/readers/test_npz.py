"""`.npz` logs: one file or many, and damaged ones."""

import warnings
import zipfile

import numpy as np
import pytest

from ropeval.data import Dataset, load_dataset
from ropeval.errors import UserError
from tests.data import logs


def test_a_folder_of_files_is_one_log(columns, tmp_path):
    whole = Dataset.from_columns(columns)
    for part, rows in enumerate((slice(0, 4), slice(4, 12))):
        np.savez(tmp_path / f"part{part}.npz", **{k: v[rows] for k, v in columns.items()})
    assert load_dataset(tmp_path).sha256 == whole.sha256


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"not an archive at all"])
def test_damaged_files_are_refused(tmp_path, content):
    path = tmp_path / "log.npz"
    path.write_bytes(content)
    with pytest.raises(UserError, match="damaged or cut short"):
        load_dataset(path)


def test_a_truncated_archive_is_refused(tmp_path, columns):
    path = tmp_path / "log.npz"
    np.savez(path, **columns)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="damaged or cut short"):
        load_dataset(path)


def test_pickled_arrays_are_never_loaded(tmp_path, columns):
    path = tmp_path / "log.npz"
    np.savez(path, **(columns | {"rewards": np.array([object()] * 12)}))
    with pytest.raises(UserError, match="cannot be read"):
        load_dataset(path)


def test_a_member_that_is_no_array(tmp_path):
    path = logs.write_npz(tmp_path, {k: v for k, v in logs.make_columns().items() if k != "rewards"})
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("rewards", b"not an array")
    with pytest.raises(UserError, match="rewards is no array"):
        load_dataset(path)


def _folder(path):
    path.mkdir()
    return path


def test_an_array_that_is_there_twice_is_not_chosen_among(tmp_path):
    path = logs.write_npz(tmp_path, logs.make_columns())
    other = logs.write_npz(_folder(tmp_path / "other"), logs.make_columns())
    with zipfile.ZipFile(other) as source, warnings.catch_warnings(), zipfile.ZipFile(path, "a") as target:
        warnings.simplefilter("ignore")  # zipfile's own about it
        target.writestr("rewards.npy", source.read("rewards.npy"))
    with pytest.raises(UserError, match="rewards is in the archive twice"):
        load_dataset(path)


@pytest.mark.parametrize("count", [3.9, np.nan, np.inf, "three", [3, 3], np.datetime64("2020-01-01")])
def test_a_number_of_actions_that_is_none(tmp_path, count):
    path = logs.write_npz(tmp_path, logs.make_columns(discrete=True) | {"num_actions": np.array(count)})
    with pytest.raises(UserError, match=r"num_actions is .*; expected one whole number"):
        load_dataset(path)


def test_an_episode_that_is_no_number_is_refused(tmp_path):
    path = logs.write_npz(tmp_path, logs.make_columns() | {"episode_ids": np.array([0.0] * 11 + [np.nan])})
    with pytest.raises(UserError, match="episode_ids is nan in row 11"):
        load_dataset(path)
