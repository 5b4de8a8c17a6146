"""Names of columns: found by alias, number and pattern, or said."""

import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.data.column_names import find_names, parse_columns
from ropeval.errors import UserError
from tests.data.test_quality import longer


def test_names_are_found_by_alias_number_and_pattern():
    available = ["obs_0", "obs_10", "obs_2", "action", "reward", "terminal", "timeouts", "x1", "x10", "x9"]
    found = find_names(available, {}, "log")
    assert found["observations"] == ["obs_0", "obs_2", "obs_10"]
    assert found["terminations"] == ["terminal"]
    assert find_names(available, parse_columns(["observations=x*"]), "log")["observations"] == ["x1", "x9", "x10"]


def test_flags_that_never_happen_can_be_said(tmp_path):
    columns = longer()
    del columns["truncations"]
    np.savez(tmp_path / "log.npz", **columns)
    log = load_dataset(tmp_path / "log.npz", parse_columns(["truncations=never"]))
    assert log.num_episodes == 21  # 20 that terminate, and what follows the last of them
    with pytest.raises(UserError, match="only terminations and truncations"):
        load_dataset(tmp_path / "log.npz", parse_columns(["truncations=never", "rewards=never"]))
