"""Which members diverged, and which count."""

import numpy as np
import pytest

from ropeval.data.bounds import ANYTHING, Bounds
from ropeval.evaluation.diagnosis.evidence import diverged_members, used_members
from ropeval.learning.engine import DIVERGED_AT_BOUNDS, Trained

UNIT = Bounds(0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "diverged", "bounds", "used"),
    [
        ([0.5, 0.6], [False, False], UNIT, [True, True]),
        ([0.5, 2.0], [False, False], UNIT, [True, False]),
        ([0.5, 2.0], [False, False], ANYTHING, [True, True]),
        ([0.5, 2.0], [True, False], UNIT, [False, True]),  # nobody inside is left: the method is wrong, not a member
        ([3.0, 2.0], [False, False], UNIT, [True, True]),
        ([np.nan, 0.5], [True, False], UNIT, [False, True]),
        ([0.5, 0.5], [True, True], UNIT, [False, False]),
    ],
)
def test_members_that_can_be_right(values, diverged, bounds, used):
    assert used_members(np.array(values), np.array(diverged), bounds).tolist() == used


def test_members_that_cannot_be_believed():
    values = np.array([1.0, np.nan, -np.inf, 1.01 * DIVERGED_AT_BOUNDS, 0.99 * DIVERGED_AT_BOUNDS])
    assert diverged_members({}, values, 1.0).tolist() == [False, True, True, True, False]
    when = np.array([-1, -1, -1, -1, 0])
    stage = Trained("fqe", None, np.array([1]), {}, when)
    assert diverged_members({"fqe": stage}, np.zeros(5), 1.0).tolist() == [False] * 4 + [True]
