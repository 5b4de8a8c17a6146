"""d3rlpy's replay buffers, as d3rlpy wrote them."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.errors import UserError

pytestmark = pytest.mark.usefixtures("read_here")

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_a_buffer_that_d3rlpy_wrote(kind):
    """Four episodes of 5 to 8 steps, the first and third terminated; written by d3rlpy 2.8.1."""
    log = load_dataset(SAMPLES / f"d3rlpy_{kind}.h5")
    np.testing.assert_array_equal(np.diff(log.starts), [5, 5, 7, 7])  # the last step of the others has no successor
    assert log.num_actions == (3 if kind == "discrete" else None)
    with h5py.File(SAMPLES / f"d3rlpy_{kind}.h5") as file:
        np.testing.assert_array_equal(log.observations[5:10], file["observations_1"][:-1])
        np.testing.assert_array_equal(log.next_observations[5:10], file["observations_1"][1:])
        np.testing.assert_array_equal(log.rewards[10:17], file["rewards_2"][:, 0])
        np.testing.assert_array_equal(log.actions[10:17], np.squeeze(file["actions_2"][:]))
    np.testing.assert_array_equal(np.flatnonzero(log.terminations), [4, 16])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [4 + 1j, np.zeros((), [("a", "f4")])])
def test_a_number_of_episodes_that_is_none(tmp_path, count):
    """Found by the fuzzer: NumPy warned that it drops the imaginary part, and the log was read."""
    shutil.copy(SAMPLES / "d3rlpy_discrete.h5", tmp_path / "log.h5")
    with h5py.File(tmp_path / "log.h5", "a") as file:
        del file["num_episodes"]
        file["num_episodes"] = count
    with pytest.raises(UserError, match="num_episodes is not a single number or word"):
        load_dataset(tmp_path / "log.h5")
