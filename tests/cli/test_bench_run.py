"""Studies by command: the shipped one, smaller, killed and resumed; two processes at once; bad input."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropeval.bench.results.rows import BASELINES, load_rows
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import load_study
from ropeval.cli.main import main
from tests.bench.run.toy_study import TASKS, call, collected

SMALLER = ["smoke.toml", "--tasks", "tiny/pendulum", "--seeds", "1", "--steps", "10"]
PLACES = ["--out", "study", "--data", "data"]


@pytest.mark.process
@pytest.mark.training
def test_the_smoke_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "ropeval", "bench", "run", *SMALLER, *PLACES]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    units = tmp_path / "study" / "units"
    deadline = time.monotonic() + 300
    while len(list(units.glob("*.rows.parquet"))) < 4 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {path: path.stat().st_mtime_ns for path in units.glob("*.rows.parquet")}
    assert len(kept) >= 4

    call("run", *SMALLER, *PLACES, "--resume")
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    rows, study = load_rows(tmp_path / "study"), load_study(Path("smoke.toml"))
    refused = {failure["method"] for failure in Store(tmp_path / "study").failures()}
    assert set(rows["method"]) | refused == {*study.methods, *BASELINES}
    assert "critic+fqe" in refused  # the demo's policies have no critic

    call("report", "study", "--format", "md,html")
    page = (tmp_path / "study" / "report" / "report.html").read_text(encoding="utf-8")
    assert all(method in page for method in set(rows["method"]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "none.toml"], "no such study"),
        (["run", "smoke.toml", "--tasks", "d4rl/*"], "task of this study"),
        (["run", "smoke.toml", "--methods", "fqx"], "method of this study"),
        (["run", "smoke.toml", "--seeds", "0"], "--seeds is 0"),
        (["run", "paper.toml", "--tasks", "d4rl/*"], "--policies DIR"),
        (["run", "smoke.toml", "--policies", "nowhere", "--tasks", "tiny/*", "--steps", "0"], "--steps is 0"),
        (["status", "."], "no study here"),
        (["report", "."], "no study"),
    ],
)
def test_bad_input_is_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["bench", *arguments])
    said = capsys.readouterr().err.strip()
    assert left.value.code == 2
    assert "\n" not in said
    assert words in said
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_a_task_without_its_policies_is_skipped_and_the_rest_is_run(tmp_path, tmp_path_factory, monkeypatch, capsys):
    monkeypatch.setenv("ROPEVAL_TASKS", str(TASKS))
    data = collected(tmp_path_factory.getbasetemp())
    study = tmp_path / "two.toml"
    study.write_text('tasks = ["d4rl/hopper-medium", "toy/countdown"]\nmethods = ["mean-return"]\n')
    call("run", str(study), "--out", str(tmp_path / "out"), "--data", str(data))
    said = capsys.readouterr()
    (line,) = [line for line in said.err.splitlines() if line.startswith("skipped")]
    assert line.startswith("skipped d4rl/hopper-medium: ")
    assert "--policies DIR" in line
    assert f"ropeval bench report {tmp_path / 'out'}" in said.out.replace("\n", "")
    assert set(load_rows(tmp_path / "out")["task"]) == {"toy/countdown"}
