"""Construction: canonical terminals, and bad input that names its row."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular import TabularMDP


def parts():
    return {
        "P": np.full((3, 2, 3), 1 / 3),
        "r": np.zeros((3, 2)),
        "d0": np.array([1.0, 0, 0]),
        "gamma": 0.9,
    }


def test_terminal_rows_become_self_loops_without_reward():
    mdp = TabularMDP(**{**parts(), "r": np.ones((3, 2))}, terminal=[0, 0, 1])
    np.testing.assert_array_equal(mdp.P[2], np.tile([0.0, 0.0, 1.0], (2, 1)))
    np.testing.assert_array_equal(mdp.r[2], 0.0)
    assert mdp.live_pairs.tolist() == [0, 1, 2, 3]
    # nor does the policy's row there matter, not even to its validity
    np.testing.assert_allclose(mdp.policy([[1, 0], [0, 1], [0, 0]])[2], 0.5)


def test_two_terminal_states_each_loop_on_themselves():
    mdp = TabularMDP(**parts(), terminal=[1, 0, 1])
    assert mdp.P[0, :, 0].tolist() == [1, 1]
    assert mdp.P[2, :, 2].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.full((3, 2, 3), 0.3)}, r"P: row of state 0, action 0 sums to 0.9; .* \(and 5 more"),
        ({"P": np.full((3, 2), 0.3)}, r"P: shape \(3, 2\) found"),
        ({"P": np.zeros((0, 2, 0))}, r"P: shape \(0, 2, 0\) found"),
        ({"P": np.full((3, 2, 3), np.nan)}, r"P: entry \(0, 0, 0\) is nan"),
        ({"P": "nonsense"}, "P: not an array of numbers"),
        ({"r": np.zeros(3)}, r"r: shape \(3,\) found; P asks for \(3, 2\)"),
        ({"r": np.full((3, 2), np.inf)}, r"r: entry \(0, 0\) is inf"),
        ({"d0": [0.5, 0.5]}, r"d0: shape \(2,\)"),
        ({"d0": [0.5, 0.1, 0.1]}, "d0 sums to 0.7"),
        ({"gamma": 1.0}, r"gamma: 1 found; it must lie in \[0, 1\)"),
        ({"gamma": -0.1}, "gamma: -0.1 found"),
        ({"gamma": float("nan")}, "gamma: nan found"),
        ({"gamma": [0.1, 0.2]}, "gamma: shape"),
        ({"terminal": [0, 1]}, r"terminal: shape \(2,\)"),
        ({"terminal": [0, 2, 0]}, "terminal: entry 1 is 2"),
    ],
)
def test_bad_parts_are_named(change, message):
    with pytest.raises(UserError, match=message):
        TabularMDP(**{**parts(), **change})


def test_bad_rows_are_named():
    P = np.full((3, 2, 3), 1 / 3)
    P[1, 0] = [1.2, -0.2, 0.0]
    with pytest.raises(UserError, match="P: row of state 1, action 0 holds a negative probability"):
        TabularMDP(**{**parts(), "P": P})
    with pytest.raises(UserError, match=r"pi_e: row of state 1 sums to 0\.6; it must sum to one"):
        TabularMDP(**parts()).policy([[0.5, 0.5], [0.3, 0.3], [1, 0]], "pi_e")


def test_float32_rows_are_normalised():
    rng = np.random.default_rng(0)
    mdp = TabularMDP(**{**parts(), "P": rng.dirichlet(np.ones(3), size=(3, 2)).astype(np.float32)})
    assert np.abs(mdp.P.sum(-1) - 1).max() < 1e-15
