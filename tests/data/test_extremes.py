"""Extremes of columns are those of NumPy, however many rows are laid side by side."""

import numpy as np
import pytest

from ropeval.data.extremes import NUMBERS, extremes


@pytest.mark.parametrize("rows", [1, NUMBERS - 1, NUMBERS, 3 * NUMBERS + 7])
@pytest.mark.parametrize("width", [1, 3, NUMBERS + 1])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_they_are_those_of_every_column(rows, width, kind):
    matrix = (1000 * np.random.default_rng(rows).standard_normal((rows, width))).astype(kind)
    for place in (0, rows // 2, rows - 1):  # the edges of what is laid side by side
        matrix[place, place % width] = 9999 if place % 2 else -9999
    low, high = extremes(matrix)
    np.testing.assert_array_equal(low, matrix.min(axis=0))
    np.testing.assert_array_equal(high, matrix.max(axis=0))
    assert low.dtype == high.dtype == kind


def test_what_is_no_number_is_seen():
    matrix = np.zeros((5 * NUMBERS, 2), np.float32)
    matrix[NUMBERS, 1] = np.nan
    low, high = extremes(matrix)
    assert np.isnan([low[1], high[1]]).all()
    assert low[0] == high[0] == 0
