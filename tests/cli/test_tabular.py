"""`ropeval tabular …`, as a user calls it."""

import json

import numpy as np
import pytest
from matplotlib import image

from ropeval.cli.main import main
from ropeval.tabular import gridworld, policy_value


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
