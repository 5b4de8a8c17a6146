"""What is put on the device block by block is what would have been put there whole."""

import jax
import numpy as np
import pytest

from ropeval.data import placing
from ropeval.data.placing import placed
from ropeval.data.streaming import Pairs, Stored

PER_BLOCK = 10


@pytest.fixture(autouse=True)
def in_blocks(monkeypatch):
    """Whatever is larger than one."""
    monkeypatch.setattr(placing, "WHOLE", 1)


class Asked(Stored):
    """Remembers how many rows it was asked for at a time."""

    def __getitem__(self, rows):
        found = super().__getitem__(rows)
        ASKED.append(len(found))
        return found


ASKED: list[int] = []


@pytest.mark.parametrize("rows", [1, 9, 10, 11, 20, 37, 40])
@pytest.mark.parametrize("row", [(3,), (2, 3)])
def test_blocks_hold_the_same_bits_as_the_whole_whatever_is_left_for_the_last(rows, row, monkeypatch):
    monkeypatch.setattr(placing, "PLACED", 4 * int(np.prod(row)) * PER_BLOCK)
    ASKED.clear()
    values = np.random.default_rng(rows).standard_normal((rows, *row)).astype(np.float32)
    values.reshape(-1)[0] = -0.0
    found = placed(Asked(values))
    assert isinstance(found, jax.Array)
    assert np.asarray(found).tobytes() == values.tobytes()
    assert [min(rows, PER_BLOCK)] * -(-rows // PER_BLOCK) == ASKED  # one length: one program


def test_features_of_pairs_come_out_of_blocks_as_they_do_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    states, actions = rng.standard_normal((101, 3), np.float32), rng.standard_normal((101, 4, 2), np.float32)
    mean, std = rng.uniform(1, 2, (2, 3)).astype(np.float32)
    pairs = Pairs(states, actions, mean, std, None)
    by_hand = np.concatenate(
        [np.repeat(((states - mean) / std)[:, None], 4, axis=1), actions], axis=2, dtype=np.float32
    )
    monkeypatch.setattr(placing, "PLACED", 1000)
    assert np.asarray(placed(pairs)).tobytes() == by_hand.tobytes()


def test_a_row_larger_than_a_block_goes_alone(monkeypatch):
    monkeypatch.setattr(placing, "PLACED", 4)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(placed(Stored(values)), values)
