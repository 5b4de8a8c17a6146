"""The paper's figure, in numbers, and the two verbs as a user calls them."""

import json
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import image

from ropeval.cli.main import main
from ropeval.errors import UserError
from ropeval.tabular import action_values, gridworld, policy_value, rope, study
from tests.tabular.strategies import garnet


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


def run(*arguments):
    """As the console script runs it: the exit code of `ropeval …`."""
    try:
        main(list(arguments))
    except SystemExit as leaving:
        return leaving.code or 0
    return 0


def test_the_gridworld_verb_draws_and_counts(tmp_path, capsys):
    assert run("tabular", "gridworld", "--out", str(tmp_path / "new" / "pictures")) == 0
    text = capsys.readouterr().out
    assert "merged" in text
    assert "mico" in text
    names = {path.name for path in (tmp_path / "new" / "pictures").iterdir()}
    panels = ("q", "rope", "mico", "psm", "random", "all")
    assert names == {f"gridworld-{name}.{kind}" for name in panels for kind in ("png", "svg")}
    picture = image.imread(tmp_path / "new" / "pictures" / "gridworld-q.png")
    height, width, _ = picture.shape
    corner = picture[int(0.14 * height) : int(0.32 * height), int(0.70 * width) : int(0.90 * width), :3]
    assert (corner == 1.0).all()  # the terminal cell is blank


def test_the_solve_verb_writes_its_numbers(tmp_path, capsys):
    grid = gridworld()
    mdp = grid.mdp
    path = tmp_path / "grid.npz"
    np.savez(path, P=mdp.P, r=mdp.r, d0=mdp.d0, gamma=mdp.gamma, pi_e=grid.pi_e, pi_b=grid.pi_b, terminal=mdp.terminal)
    assert run("tabular", "solve", str(path), "--out", str(tmp_path / "solved")) == 0
    summary = json.loads((tmp_path / "solved" / "summary.json").read_text())
    assert summary["metrics"]["psm"]["merged"] == 46
    assert summary["metrics"]["rope"]["as_q"] is True
    rows = (tmp_path / "solved" / "pairs.csv").read_text().splitlines()
    assert len(rows) == 33
    assert rows[0].startswith("state,action,q,occupancy,group_q,group_rope")
    assert float(rows[1].split(",")[2]) == pytest.approx(policy_value(mdp, grid.pi_e))
    assert not [path for path in (tmp_path / "solved").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gridworld", "--size", "0"], "size: 0 found"),
        (["gridworld", "--size", "-3"], "size: -3 found"),
        (["gridworld", "--size", "1000000"], "size: 1000000 found"),
        (["gridworld", "--metric", "best"], "unknown metric 'best'; choose from"),
        (["gridworld", "--reward", "last"], "unknown reward 'last'"),
        (["gridworld", "--out", "FILE"], "cannot be made a folder"),
        (["solve", "nothing.npz"], "nothing.npz: does not exist"),
        (["solve", "FILE"], "cannot be read as .npz"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, message, tmp_path, capsys):
    (tmp_path / "file").write_text("not an archive")
    assert run("tabular", *(str(tmp_path / "file") if part == "FILE" else part for part in arguments)) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1


def test_an_mdp_without_live_states_and_one_too_large_are_refused():
    mdp, pi, _ = garnet(2, 1, 1, seed=0)
    ended = type(mdp)(mdp.P, mdp.r, mdp.d0, mdp.gamma, [1, 1])
    with pytest.raises(UserError, match="every state is terminal"):
        study(ended, pi, pi)
    S = 6001
    wide = type(mdp)(np.ones((1, S, 1)), np.zeros((1, S)), [1.0], 0.5)
    with pytest.raises(UserError, match="1 states × 6001 actions"):
        study(wide, wide.uniform_policy(), wide.uniform_policy())


def test_importing_the_room_leaves_jax_in_float32():
    code = "import ropeval.tabular, jax; assert not jax.config.jax_enable_x64"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
