"""Construction: canonical terminals, the toy-text tables, counts from logs, and bad input that names its row."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.tabular import TabularMDP, action_values, from_log, policy_value
from ropeval.tabular.files import load_npz
from tests.tabular.strategies import garnet


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
    bare = Bare()
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


def test_npz_files_read_back_and_bad_ones_are_named(tmp_path):
    mdp, pi_e, _ = garnet(4, 2, 2, seed=0)
    good = {"P": mdp.P, "r": mdp.r, "d0": mdp.d0, "gamma": mdp.gamma, "pi_e": pi_e}
    path = tmp_path / "mdp.npz"
    np.savez(path, **good)
    read, policies = load_npz(path)
    np.testing.assert_array_equal(read.P, mdp.P)
    np.testing.assert_allclose(policies["pi_b"], 0.5)

    def refuse(message, **change):
        fields = {**good, **change}
        np.savez(path, **{name: value for name, value in fields.items() if value is not None})
        with pytest.raises(UserError, match=message):
            load_npz(path)

    refuse(r"mdp.npz: missing pi_e; the file holds P, d0, gamma, r", pi_e=None)
    refuse(r"mdp.npz: pi_b: shape \(4, 3\)", pi_b=np.ones((4, 3)))
    refuse(r"mdp.npz: gamma: 1.5", gamma=1.5)
    refuse(r"mdp.npz: r: not an array of numbers", r=np.full((4, 2), "x"))
    refuse(r"mdp.npz: cannot be read", r=np.array([[{}]], dtype=object))

    np.savez(path, **good)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(UserError, match="cut short"):
        load_npz(path)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(UserError, match=r"text\.npz"):
        load_npz(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(UserError, match="one array, not an archive"):
        load_npz(tmp_path / "one.npy")
    with pytest.raises(UserError, match="does not exist"):
        load_npz(tmp_path / "nothing.npz")
    with pytest.raises(UserError, match="is a folder"):
        load_npz(tmp_path)
