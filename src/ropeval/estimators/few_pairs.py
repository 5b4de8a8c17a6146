"""Whether few different pairs of state and action are all there is."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ropeval.arrays import Floats, Singles

SAME = 1e-9  # two pairs whose projections lie nearer are one


class FewPairs(NamedTuple):
    """A random projection tells pairs apart."""

    direction: Floats  # [X]
    known: Floats  # [pairs] their projections, in order


def few_pairs(blocks: Iterable[Singles], size: int, most: int) -> FewPairs | None:
    """Of pairs […, X = `size`], block by block; None where they are more than `most`, as soon as that is seen."""
    direction, known = np.random.default_rng(0).standard_normal(size), np.zeros(0)
    for x in blocks:
        known = np.unique(np.concatenate([known, (x.astype(np.float64) @ direction).ravel()]))
        known = known[np.diff(known, prepend=-np.inf) > SAME]
        if len(known) > most:
            return None
    return FewPairs(direction, known)
