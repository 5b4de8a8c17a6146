"""Spaces as Minari writes them, flattened as Gymnasium does."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from ropeval.data.readers.spaces import Space, flatten_leaf, parse_space
from ropeval.errors import UserError

LEAVES = {
    "Box": (spaces.Box(-1, 1, (2, 3)), {"type": "Box", "shape": [2, 3]}),
    "Discrete": (spaces.Discrete(4, start=-1), {"type": "Discrete", "n": 4, "start": -1}),
    "MultiBinary": (spaces.MultiBinary([2, 2]), {"type": "MultiBinary", "n": [2, 2]}),
    "MultiDiscrete": (spaces.MultiDiscrete([2, 3]), {"type": "MultiDiscrete", "nvec": [2, 3]}),
}


@pytest.mark.parametrize("kind", LEAVES)
def test_a_leaf_is_flattened_as_gymnasium_does(kind):
    space, described = LEAVES[kind]
    space.seed(0)
    values = [space.sample() for _ in range(5)]
    parsed = parse_space(described, "metadata.json")
    expected = np.stack([np.asarray(gymnasium.spaces.flatten(space, value)) for value in values])
    np.testing.assert_array_equal(flatten_leaf(parsed, np.array(values)), expected.astype(np.float32))
    assert parsed.size == expected.shape[1]


def test_branches_add_up_and_keep_their_order():
    inner = {"type": "Tuple", "subspaces": [LEAVES["Box"][1], LEAVES["Discrete"][1]]}
    parsed = parse_space({"type": "Dict", "subspaces": {"b": inner, "a": LEAVES["MultiBinary"][1]}}, "m")
    assert [name for name, _ in parsed.children] == ["b", "a"]
    assert [name for name, _ in parsed.children[0][1].children] == ["_index_0", "_index_1"]
    assert parsed.size == 6 + 4 + 4


def test_a_description_may_be_a_string():
    assert parse_space('{"type": "Discrete", "n": 3}', "m") == Space("Discrete", counts=(3,), starts=(0,))


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"type": "Text"}, "a space of type Text has no vector of fixed length"),
        ({"type": "Box"}, "the description of a space cannot be read"),
        ("{", "the description of a space cannot be read"),
        (None, "the description of a space cannot be read"),
    ],
)
def test_what_is_no_space(described, message):
    with pytest.raises(UserError, match=f"metadata.json: {message}"):
        parse_space(described, "metadata.json")


def test_values_outside_the_space_are_refused():
    three = parse_space({"type": "Discrete", "n": 3, "start": 1}, "m")
    for values in ([0], [4]):
        with pytest.raises(UserError, match="where the space has 3 from 1"):
            flatten_leaf(three, np.array(values))
    with pytest.raises(UserError, match="2 numbers per step where the space Discrete has 1"):
        flatten_leaf(three, np.array([[1, 2]]))


@pytest.mark.filterwarnings("error")
def test_numbers_that_do_not_fit_are_refused_without_a_word_from_numpy():
    """Found by the fuzzer: its warning was printed before the refusal."""
    one = parse_space({"type": "Box", "shape": [1]}, "m")
    assert np.isinf(flatten_leaf(one, np.array([1e308]))).all()
    for value in (np.nan, np.inf, 1.5):
        with pytest.raises(UserError, match=f"{value} where the space Discrete counts"):
            flatten_leaf(parse_space({"type": "Discrete", "n": 3}, "m"), np.array([1.0, value]))
