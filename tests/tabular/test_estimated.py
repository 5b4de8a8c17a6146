"""MDPs from toy-text tables and from the counts of a log."""

from typing import Any

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular import TabularMDP, action_values, from_log, policy_value


@pytest.mark.parametrize("name", ["FrozenLake", "CliffWalking", "Taxi"])
def test_toy_text_tables(name):
    gymnasium = pytest.importorskip("gymnasium")
    newest = max(spec.version for spec in gymnasium.registry.values() if spec.name == name)
    env = gymnasium.make(f"{name}-v{newest}")
    mdp = TabularMDP.from_gymnasium(env, gamma=0.99)
    assert mdp.terminal.any()
    uniform = mdp.uniform_policy()
    # the value by rolling the environment's own table forward, stopping where it says done
    table, v = env.unwrapped.P, np.zeros(mdp.num_states)
    states = np.flatnonzero(~mdp.terminal)
    for _ in range(300):
        v_next = np.zeros_like(v)
        for s in states:
            v_next[s] = np.mean(
                [sum(p * (r + 0.9 * (not done) * v[t]) for p, t, r, done in table[s][a]) for a in table[s]]
            )
        if np.abs(v_next - v).max() < 1e-9:
            break
        v = v_next
    exact = TabularMDP(mdp.P, mdp.r, mdp.d0, 0.9, mdp.terminal)
    np.testing.assert_allclose(action_values(exact, uniform).mean(axis=1)[states], v[states], atol=1e-6)


def test_a_table_without_what_is_needed_says_so():
    class Bare:
        pass

    with pytest.raises(UserError, match="Bare: no transition table"):
        TabularMDP.from_gymnasium(Bare(), 0.9)
    bare: Any = Bare()
    bare.P = {0: {0: [(1.0, 0, 1.0, True)]}}
    with pytest.raises(UserError, match="pass d0"):
        TabularMDP.from_gymnasium(bare, 0.9)


def test_counts_of_a_log():
    mdp = from_log(
        [0, 0, 0, 1], [0, 0, 1, 0], [1, 3, 0, 5], [1, 0, 1, 2], [0, 0, 0, 1],
        num_states=3, num_actions=2, gamma=0.5, d0=[1, 0, 0], unvisited="stay",
    )  # fmt: skip
    np.testing.assert_allclose(mdp.P[0], [[0.5, 0.5, 0], [0, 1, 0]])
    np.testing.assert_allclose(mdp.P[1], [[0, 0, 1], [0, 1, 0]])  # (1, 1) was never seen: it stays
    np.testing.assert_allclose(mdp.r, [[2, 0], [5, 0], [0, 0]])
    assert mdp.terminal.tolist() == [False, False, True]


def test_a_state_that_both_ends_and_acts_gets_a_separate_end():
    # 0 → 0 pays 1 and ends half of the time: v = 1 + γ·v/2
    mdp = from_log([0, 0], [0, 0], [1, 1], [0, 0], [1, 0], num_states=1, num_actions=1, gamma=0.5, d0=[1])
    assert mdp.num_states == 2
    assert policy_value(mdp, np.ones((2, 1))) == pytest.approx(1 / (1 - 0.25))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (0, [0, 3], "states: row 1 is 3; it must be a whole number from 0 to 2"),
        (1, [0, 0.5], "actions: row 1 is 0.5"),
        (2, [0, np.nan], "rewards: entry"),
        (3, [0], "next_states: 1 entries, but states has 2"),
        (4, [[0, 1]], r"terminated: shape \(1, 2\)"),
    ],
)
def test_bad_logs_are_named(column, values, message):
    columns = [[0, 1], [0, 0], [1.0, 1.0], [1, 2], [0, 1]]
    columns[column] = values
    with pytest.raises(UserError, match=message):
        from_log(*columns, num_states=3, num_actions=1, gamma=0.9, d0=[1, 0, 0])


def test_unvisited_pairs_are_an_error_unless_asked_for():
    with pytest.raises(UserError, match=r"state 0, action 1: no transition in the log \(1 such pairs\)"):
        from_log([0], [0], [1], [1], [1], num_states=2, num_actions=2, gamma=0.9, d0=[1, 0])
