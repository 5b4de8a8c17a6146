"""The paper's figure, in numbers."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular import action_values, gridworld, policy_value, rope, study


def test_the_world_is_the_papers():
    grid = gridworld()
    mdp = grid.mdp
    assert (mdp.num_states, mdp.num_actions, mdp.gamma) == (9, 4, 0.99)
    assert mdp.d0[0] == 1
    assert mdp.terminal.tolist() == [False] * 8 + [True]
    assert mdp.r[0, 0] == -4
    assert mdp.r[4, 0] == -2
    assert mdp.r[8, 0] == 0
    np.testing.assert_array_equal(grid.pi_e[0], [0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(grid.pi_e[4], [0, 1, 0, 0])  # right in the centre
    np.testing.assert_allclose(grid.pi_b, 0.25)
    assert policy_value(mdp, grid.pi_e) == pytest.approx(-(4 + 3 * 0.99 + 2 * 0.99**2 + 0.99**3))


@pytest.mark.parametrize(("reward_of", "pairs"), [("current", 4), ("next", 8)])
def test_pairs_with_q_minus_six_are_one_rope_group(reward_of, pairs):
    grid = gridworld(3, reward_of)
    q = action_values(grid.mdp, grid.pi_e).reshape(-1)[grid.mdp.live_pairs]
    six = np.flatnonzero(np.round(q) == -6)
    assert len(six) == pairs
    np.testing.assert_allclose(q[six], -5.9601)
    labels = study(grid.mdp, grid.pi_e, grid.pi_b, ["rope"]).groups["rope"].labels
    assert set(np.flatnonzero(labels == labels[six[0]])) == set(six)


@pytest.mark.parametrize("reward_of", ["current", "next"])
@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_only_rope_groups_as_q_does(size, reward_of):
    grid = gridworld(size, reward_of)
    result = study(grid.mdp, grid.pi_e, grid.pi_b)
    found = result.groups["rope"]
    assert found.aligned
    assert found.labels.tolist() == result.q_labels.tolist()
    assert found.aggregated.q_error < 1e-9
    assert not any(result.groups[name].aligned for name in ("mico", "psm", "random"))


def test_the_papers_table():
    grid = gridworld()
    result = study(grid.mdp, grid.pi_e, grid.pi_b)
    table = {name: (found.count, found.merged, found.split) for name, found in result.groups.items()}
    assert result.q_count == 11
    assert table == {"rope": (11, 0, 0), "mico": (31, 0, 35), "psm": (8, 46, 7), "random": (21, 0, 25)}


def test_a_stochastic_start_can_have_zero_self_distance():
    grid = gridworld()
    assert np.diag(rope(grid.mdp, grid.pi_e).fixed_point()).max() == 0.0


@pytest.mark.parametrize("size", [-1, 0, 1, 26, 10**9])
def test_absurd_sizes_are_refused(size):
    with pytest.raises(UserError, match=f"size: {size} found"):
        gridworld(size)
