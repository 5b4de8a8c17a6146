"""Studies by command: the shipped one, smaller, interrupted and resumed; bad input."""

from importlib.resources import files
from pathlib import Path

import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.results.rows import BASELINES, load_rows
from ropeval.bench.run import local
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study, load_study
from ropeval.bench.run.unit import run_unit
from ropeval.cli.bench_run import _narrowed, complaints
from ropeval.cli.main import main
from tests.bench.played_here import HERE
from tests.bench.run.toy_study import TASKS, call, collected
from tests.tiny import settings

SMALLER = ["small.toml", "--tasks", "tiny/pendulum", "--seeds", "1", "--steps", "10"]
PLACES = ["--out", "study", "--data", "data"]


def write_smoke(path: Path) -> Study:
    """The shipped study, with networks of one narrow layer: deeper ones take longer to compile, and nothing else."""
    study = load_study(Path("smoke.toml"))
    used = {part for method in study.methods for part in method.split("+")}
    lines = [(files("ropeval.bench.run") / "studies" / "smoke.toml").read_text(encoding="utf-8")]
    for part, fields in settings(width=8, depth=1).items():
        if part in used and fields:
            lines += [f"[settings.{part}]", *(f"{name} = {value}" for name, value in fields.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return study


def collect_few(*arguments, **named):
    """In this process, and with true values from a few episodes: nothing here looks at them."""
    return collect(*arguments, **named | {"pool": HERE, "truth_episodes": 5})


def until_the_fifth():
    """Ctrl-C, when four units are done."""
    left = iter(range(4))

    def run(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return run_unit(*arguments)

    return run


def test_why_a_method_has_no_answer_is_said_once():
    missing = {"method": "fqe-trees", "error": "lightgbm is not installed", "refused": True}
    failed = {"unit": "a.fqe.1", "method": "fqe", "error": "MemoryError: ", "refused": False}
    assert complaints([{"unit": "a.fqe-trees.1"} | missing, failed, {"unit": "b.fqe-trees.1"} | missing]) == [
        "failed: a.fqe.1: MemoryError: ",
        "refused: fqe-trees: lightgbm is not installed",
    ]


@pytest.mark.training
def test_the_smoke_study(tmp_path, monkeypatch):
    """Collected, interrupted after its fourth unit, resumed. `tests/bench/run/test_local.py` kills one."""
    monkeypatch.chdir(tmp_path)
    study = write_smoke(tmp_path / "small.toml")
    monkeypatch.setattr("ropeval.bench.data.collect.collect", collect_few)
    with monkeypatch.context() as patch:
        patch.setattr(local, "run_unit", until_the_fifth())
        with pytest.raises(SystemExit, match="130"):
            main(["bench", "run", *SMALLER, *PLACES])
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "study" / "units").glob("*.rows.parquet")}
    assert len(kept) == 4

    call("run", *SMALLER, *PLACES, "--resume")
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    rows = load_rows(tmp_path / "study")
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


def test_a_pattern_names_the_tasks_of_the_study_alone():
    """suite/cartpole-* fits logs of other sizes, too, which suite.toml does not have."""
    study = _narrowed(Path("suite.toml"), ["suite/cartpole-*", "suite/cartpole-weak-20k"], None, None, None)
    assert study.tasks == ["suite/cartpole-weak-20k", "suite/cartpole-mixture-5k", "suite/cartpole-epsilon-100k"]


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
