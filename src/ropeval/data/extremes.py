"""The smallest and the largest of every column of a narrow matrix, as fast as memory."""

import numpy as np

from ropeval.arrays import AnyArray

NUMBERS = 1 << 10  # in a row, from which on NumPy is fast


def extremes(matrix: AnyArray) -> tuple[AnyArray, AnyArray]:
    """(smallest [S], largest [S]) of [n, S]; nan where there is one. As many rows as make a long one are laid side by
    side: along rows of three or four numbers it would take several times as long."""
    width = matrix.shape[1]
    fold = max(1, NUMBERS // max(1, width))
    whole = len(matrix) // fold * fold
    if whole == 0:
        return matrix.min(axis=0), matrix.max(axis=0)
    long, rest = matrix[:whole].reshape(-1, fold * width), matrix[whole:]  # [n / fold, fold · S]
    low, high = (edge.reshape(fold, width) for edge in (long.min(axis=0), long.max(axis=0)))
    return np.concatenate([low, rest]).min(axis=0), np.concatenate([high, rest]).max(axis=0)
