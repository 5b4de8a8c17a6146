"""`uniform` and `uniform:LOW,HIGH`."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies.policy import Space
from ropeval.policies.readers import uniform


@pytest.mark.parametrize(
    ("text", "is_it"), [("uniform", True), ("uniform:-1,1", True), ("uniformly", False), ("a:b", False)]
)
def test_it_is_a_word(text, is_it):
    assert uniform.recognises(text) is is_it


def test_a_range_of_ones_own_or_that_of_the_log():
    space = Space(1, 2, False, np.float32([-3, -3]), np.float32([3, 3]))
    for text, reach in (("uniform", 3), ("uniform:-0.5,0.5", 0.5)):
        actions = uniform.read(text, None).fitted(space).sample(np.zeros((2000, 1)), np.random.default_rng(0))
        assert actions.shape == (2000, 2)
        assert 0.99 * reach < np.abs(actions).max() <= reach


@pytest.mark.parametrize("text", ["uniform:1", "uniform:a,b", "uniform:1,2,3"])
def test_what_is_no_range(text):
    with pytest.raises(UserError, match="expected uniform:LOW,HIGH"):
        uniform.read(text, None)
