"""`ropeval data`: what is printed, what is written, and how it ends."""

import json
import re
import signal

import numpy as np
import pytest

from ropeval.cli.main import main
from ropeval.data import load_dataset
from tests.data import logs


def call(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    out = capsys.readouterr()
    return int(ended.value.code or 0), out.out, out.err


def test_info_counts_what_is_there(tmp_path, capsys):
    path = logs.write_npz(tmp_path, logs.make_columns())
    code, out, _ = call(capsys, "data", "info", path)
    assert code == 0
    assert "12 in 3 episodes" in out
    assert "1 terminated, 2 truncated" in out
    assert "observations[2]" in out
    assert "█" in out


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("kind", ["d4rl", "d3rlpy"])
def test_time_outs_are_seen_where_their_last_step_was_dropped(tmp_path, capsys, kind):
    columns = {name: values for name, values in logs.make_columns().items() if name != "next_observations"}
    _, out, _ = call(capsys, "data", "info", logs.WRITERS[kind](tmp_path, columns))
    assert "10 in 3 episodes" in out
    assert "1 terminated, 2 truncated\n" in out


BANDIT = ["--columns", "observations=age", "--columns", "actions=drug", "--columns", "rewards=cured"]


def test_names_and_bandits(tmp_path, capsys):
    rows = [f"{30 + i % 7},{('low', 'none', 'high')[i % 3]},{i % 2}" for i in range(40)]
    (tmp_path / "visits.csv").write_text("\n".join(["age,drug,cured", *rows]))
    said = [*BANDIT, "--columns", "terminations=always", "--columns", "action_names=none,low,high"]
    code, out, _ = call(capsys, "data", "info", tmp_path / "visits.csv", *said)
    assert code == 0
    for row in ("age", "none", "low", "high"):
        assert re.search(rf"^  {row} .*\d", out, re.MULTILINE), row
    assert "single step" not in out
    code, out, _ = call(capsys, "data", "check", tmp_path / "visits.csv", *said)
    assert (code, "no objections" in out) == (0, True)
    code, _, err = call(capsys, "data", "check", tmp_path / "visits.csv", *BANDIT, "--columns", "terminations=never")
    assert code == 2
    assert "truncations" in err


def test_info_says_whether_there_are_log_probabilities(tmp_path, capsys):
    columns = logs.make_columns()
    assert "log_probs      none" in call(capsys, "data", "info", logs.write_npz(tmp_path, columns))[1]
    path = logs.write_npz(tmp_path, columns | {"log_probs": -np.arange(1.0, 13.0)})
    assert "log_probs      -12 … -1, mean -6.5" in call(capsys, "data", "info", path)[1]
    assert json.loads(call(capsys, "data", "info", path, "--json")[1])["log_probs"]["min"] == [-12.0]


@pytest.mark.usefixtures("read_here")
def test_info_as_json(tmp_path, capsys):
    columns = logs.make_columns(discrete=True)
    columns["observations"][:, 1] = 7.0
    columns["observations"][:, 2] = columns["observations"][:, 0]
    columns["next_observations"] = np.roll(columns["observations"], -1, axis=0)
    code, out, _ = call(capsys, "data", "info", logs.write_parquet(tmp_path, columns), "--json")
    found = json.loads(out)
    assert (code, found["steps"], found["episodes"], found["format"]) == (0, 12, 3, "Parquet")
    assert found["constant"] == ["observations_1"]  # as the table calls it
    assert found["equal"] == [["observations_0", "observations_2"]]
    assert found["names"]["actions"] == ["action 0", "action 1", "action 2"]
    assert found["actions"]["counts"] == np.bincount(columns["actions"], minlength=3).tolist()
    returns = [columns["rewards"][rows].sum() for rows in logs.slices()]
    np.testing.assert_allclose(
        [found["returns"]["min"], found["returns"]["max"]], [min(returns), max(returns)], rtol=1e-6
    )


@pytest.mark.parametrize("kind", list(logs.WRITERS))
@pytest.mark.usefixtures("read_here")
def test_convert_makes_columns_of_everything(tmp_path, capsys, kind):
    path = logs.WRITERS[kind](tmp_path, logs.make_columns())
    code, out, err = call(capsys, "data", "convert", path, tmp_path / "converted")
    assert (code, "written to" in out) == (0, True)
    assert ("dropped" in err) == (kind == "d3rlpy")
    assert load_dataset(tmp_path / "converted").sha256 == load_dataset(path).sha256


def test_convert_replaces_only_what_it_is_told_to(tmp_path, capsys):
    path = logs.write_npz(tmp_path, logs.make_columns())
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    for target, words in (
        ("photos", "exists already"),
        ("log.npz", "exists already"),
        ("other.csv", "does not write .csv"),
    ):
        code, _, err = call(capsys, "data", "convert", path, tmp_path / target)
        assert (code, words in err) == (2, True), target
    assert (
        "not a log in ropeval's own form"
        in call(capsys, "data", "convert", path, tmp_path / "photos", "--overwrite")[2]
    )
    assert "are the same" in call(capsys, "data", "convert", path, path, "--overwrite")[2]
    assert "unknown format 'minary'" in call(capsys, "data", "convert", path, tmp_path / "x", "--to", "minary")[2]
    assert call(capsys, "data", "convert", path, tmp_path / "log")[0] == 0
    assert call(capsys, "data", "convert", path, tmp_path / "log", "--overwrite")[0] == 0
    assert (tmp_path / "photos" / "cat.jpg").exists()


def test_check_says_by_its_exit_code(tmp_path, capsys):
    columns = logs.make_columns()
    path = logs.write_npz(tmp_path, columns)
    assert call(capsys, "data", "check", path)[0] == 0
    columns["rewards"][:] = 1.0
    code, out, _ = call(capsys, "data", "check", logs.write_npz(tmp_path, columns))
    assert (code, "every reward is 1" in out) == (1, True)
    columns["rewards"][3] = np.nan
    code, _, err = call(capsys, "data", "check", logs.write_npz(tmp_path, columns))
    assert (code, "rewards is nan at row 3" in err) == (2, True)


def test_columns_are_mapped_on_the_command_line(tmp_path, capsys):
    columns = logs.make_columns()
    columns["died"] = columns.pop("terminations")
    columns["r"] = columns.pop("rewards")
    path = logs.write_csv(tmp_path, columns)
    code, _, err = call(capsys, "data", "check", path)
    assert (code, "missing rewards, terminations" in err) == (2, True)
    assert call(capsys, "data", "check", path, "--columns", "rewards=r", "--columns", "terminations=died")[0] == 0
    assert "no such column" in call(capsys, "data", "check", path, "--columns", "rewards=q")[2]
    assert "expected NAME=COLUMN" in call(capsys, "data", "check", path, "--columns", "rewards")[2]
    assert "unknown column of a log 'reword'" in call(capsys, "data", "check", path, "--columns", "reword=r")[2]


def test_ctrl_c_is_an_interruption_whatever_the_verb(tmp_path, monkeypatch, capsys):
    """Typer by itself would call it a failure, and say nothing."""

    def pressed(path):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("ropeval.data.formats.recognise", pressed)
    with pytest.raises(SystemExit) as left:
        main(["data", "info", str(tmp_path)])
    assert left.value.code == 130
    assert capsys.readouterr().err.strip() == "interrupted"
