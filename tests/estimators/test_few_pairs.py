"""Few pairs, or too many: as NumPy counts them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ropeval.estimators.few_pairs import few_pairs


@given(st.integers(0, 60), st.integers(1, 4), st.integers(1, 20), st.integers(0, 99))
def test_as_many_as_there_are_different_rows(rows, size, most, seed):
    x = np.random.default_rng(seed).integers(0, 3, (rows, size)).astype(np.float32)
    blocks = [x[:20], x[20:].reshape(-1, 1, size)]  # of any shape, and some of them empty
    found, count = few_pairs(blocks, size, most), len(np.unique(x, axis=0))
    assert (found is None) == (count > most)
    if found is not None:
        assert len(found.known) == count
        assert np.isin(np.round(x @ found.direction, 6), np.round(found.known, 6)).all()


def test_no_more_blocks_are_read_than_it_takes():
    def blocks():
        yield np.arange(9, dtype=np.float32)[:, None]
        raise AssertionError("read on")

    assert few_pairs(blocks(), 1, 8) is None
