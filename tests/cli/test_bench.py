"""`ropeval bench tasks | collect`: what a user sees."""

from pathlib import Path

import pytest

from ropeval.cli.main import main

TOY = Path(__file__).parents[1] / "bench" / "toy_tasks.py"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["bench", *words])
    return int(left.value.code or 0)


@pytest.mark.process
def test_a_task_file_is_listed_and_collected_without_further_edits(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ROPEVAL_TASKS", str(TOY))
    data = str(tmp_path)
    assert run("collect", "toy/countdown", "--data", data, "--processes", "1") == 0
    said = capsys.readouterr()
    assert f"toy/countdown: {tmp_path / 'toy/countdown/v1'}" in said.out
    assert "toy_tasks:quarter" in said.out
    assert "collecting toy/countdown" in said.err
    assert run("collect", "toy/countdown", "--data", data) == 0
    assert "already in" in capsys.readouterr().out
    assert run("tasks", "--data", data) == 0
    listed = capsys.readouterr().out
    assert "d4rl/hopper-medium-expert" in listed
    (line,) = [line for line in listed.splitlines() if "toy/countdown" in line]
    assert "900" in line
    assert "✓" in line


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["collect", "d4rl/hopper-medium"], "π_e is hopper_online_10.pkl or hopper_online_10.npz"),
        (["collect", "d4rl/nothing"], "unknown task 'd4rl/nothing'; choose from: custom/halfcheetah"),
        (["collect", "d4rl/hopper-medium", "--policies", "/nowhere"], "--policies /nowhere: no such folder"),
    ],
)
def test_what_is_missing_is_said_in_one_line(words, expected, capsys, monkeypatch):
    monkeypatch.delenv("ROPEVAL_POLICIES", raising=False)
    assert run(*words) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1].startswith("error: ")
    assert expected in said[-1]
