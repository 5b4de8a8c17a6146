"""Gymnasium's spaces, out of pickles that are never run."""

import pickle

import numpy as np
import pytest
from gymnasium import spaces

from ropeval.errors import UserError
from ropeval.policies.inert.pickles import read_pickle
from ropeval.policies.readers.spaces import GLOBALS, as_space


def described(space, change=lambda state: None):
    """As the reader sees it; `change` may alter what the pickle says."""
    value = read_pickle(pickle.dumps(space), GLOBALS, "file")
    change(getattr(value, "state", None))
    return value


def test_a_box():
    box = spaces.Box(np.float32([[-1, 0], [1, 2]]), np.float32([[0, 1], [2, 3]]))
    found = as_space(described(box), "file")
    assert (found.kind, found.shape, found.bytes_per_number) == ("Box", (2, 2), 4)
    np.testing.assert_array_equal(found.low, [-1, 0, 1, 2])
    np.testing.assert_array_equal(found.high, [0, 1, 2, 3])
    assert as_space(described(spaces.Box(0, 255, (4, 4, 3), np.uint8)), "file").bytes_per_number == 1


def test_a_number_of_actions():
    found = as_space(described(spaces.Discrete(5, start=2)), "file")
    assert (found.kind, found.count, found.start) == ("Discrete", 5, 2)


@pytest.mark.parametrize(
    "space", [spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(3), spaces.Dict(a=spaces.Discrete(2))]
)
def test_of_others_the_kind_is_enough(space):
    assert as_space(described(space), "file").kind == type(space).__name__


def test_what_is_no_space():
    for value in ({"low": 1}, 5, described(np.zeros(2))):
        with pytest.raises(UserError, match="file: expected a Gymnasium space"):
            as_space(value, "file")
    box = spaces.Box(-1, 1, (2,))
    for change, message in (
        (lambda state: state.update(low=3), "file: low: expected an array, found 3"),
        (lambda state: state.pop("high"), "file: high: expected an array, found None"),
        (lambda state: state.update(low=described(np.zeros(3))), r"low has shape \(3,\) and high \(2,\)"),
        (lambda state: state.update(low=described(np.array([np.nan, 0]))), "it holds float64 or NaN"),
    ):
        with pytest.raises(UserError, match=message):
            as_space(described(box, change), "file")
    with pytest.raises(UserError, match=r"it has 2\.5 actions from 0 on"):
        as_space(described(spaces.Discrete(2), lambda state: state.update(n=2.5)), "file")
