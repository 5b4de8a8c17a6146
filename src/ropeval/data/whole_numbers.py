"""The whole numbers that a log's observations are, where each is one: of all its columns, in one go."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ropeval.arrays import Singles
from ropeval.files import release

MOST = 1000  # kinds that are told apart
BLOCK = 1 << 18  # rows at a time


class WholeNumbers(NamedTuple):
    least: float
    largest: float
    kinds: Singles | None  # [K] in order; None where there are more than `MOST`


def whole_numbers(columns: Iterable[Singles]) -> WholeNumbers | None:
    """Of columns [n, 1]; None where a number among them is not whole: most logs say so in their first rows."""
    least, largest, kinds = np.inf, -np.inf, np.empty(0, np.float32)
    for column in columns:
        for start in range(0, len(column), BLOCK):
            block = np.asarray(column[start : start + BLOCK])
            if (block != np.round(block)).any():
                return None
            least, largest = min(least, float(block.min())), max(largest, float(block.max()))
            if len(kinds) <= MOST:
                kinds = np.union1d(kinds, block)
            release(column)
    return WholeNumbers(least, largest, kinds if len(kinds) <= MOST else None)
