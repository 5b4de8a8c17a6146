"""Running a study: every member once, nothing lost, nothing twice, whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.task_data import load_task
from ropeval.bench.data.tasks import find_task
from ropeval.bench.results.rows import load_curves, load_rows
from ropeval.bench.run.local import largest_unit, run_study, study_status
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study, make_groups
from ropeval.bench.run.unit import problem_of
from ropeval.cli.main import main
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.result import Finding

HERE = Path(__file__).parent
TASK = "toy/countdown"
SMALL = {"width": 8, "depth": 1, "batch": 8}
STUDY = Study(
    name="toy",
    tasks=[TASK],
    methods=["fqe", "rope+fqe", "is"],
    seeds=2,
    steps=20,
    settings={"fqe": SMALL, "rope": SMALL},
    grid={"rope+fqe": {"rope.beta": [0.1, 1.0], "rope.dim": [2, 3]}},
)
MEMBERS = {"mean-reward": 1, "mean-return": 1, "fqe": 2, "rope+fqe": 8}
SCORES = ["task", "method", "hyper", "seed", "estimate", "diverged"]


@pytest.fixture(scope="module", autouse=True)
def own_tasks():
    before = os.environ.get("ROPEVAL_TASKS")
    os.environ["ROPEVAL_TASKS"] = str(HERE / "toy_tasks.py")
    yield
    if before is None:
        del os.environ["ROPEVAL_TASKS"]
    else:
        os.environ["ROPEVAL_TASKS"] = before


@cache  # once for all modules that import these fixtures
def collected(place: Path) -> Path:
    folder = place / "toy-data"
    collect(find_task(TASK), folder, processes=1, truth_episodes=50)
    return folder


@pytest.fixture(scope="module")
def data(own_tasks, tmp_path_factory) -> Path:
    return collected(tmp_path_factory.getbasetemp())


def run(study: Study, folder: Path, data: Path, resume: bool = False):
    store = Store(folder)
    store.create(study, resume)
    return run_study(study, [TASK], store, data)


@cache
def whole_study(place: Path) -> Path:
    folder = place / "toy-study"
    outcome = run(STUDY, folder, collected(place))
    assert (outcome.members, outcome.refused, outcome.failed) == (12, 1, 0)
    return folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    return whole_study(tmp_path_factory.getbasetemp())


def scores(folder: Path) -> pl.DataFrame:
    return load_rows(folder).select(SCORES).sort(SCORES[:4])


def test_every_member_has_one_row(finished):
    rows = load_rows(finished)
    assert dict(rows.group_by("method").len().iter_rows()) == MEMBERS
    assert len(rows.unique(["method", "hyper", "seed"])) == len(rows)
    rope = rows.filter(method="rope+fqe")
    assert set(rope["hyper"]) == {f'{{"rope.beta":{b},"rope.dim":{d}}}' for b in (0.1, 1.0) for d in (2, 3)}
    assert not rope["default"].any()
    assert rows.filter(method="fqe")["default"].all()


def test_rows_know_both_truths_and_what_they_came_from(finished, data):
    row, task = load_rows(finished).row(0, named=True), load_task(TASK, data)
    assert row["truth_discounted"] == task.judged["evaluated"].truth.discounted.value
    assert row["truth_mean_reward"] == task.judged["evaluated"].truth.mean_reward.value
    assert row["random_mean_reward_se"] == task.random.mean_reward.standard_error
    assert row["data_sha256"] == task.dataset.sha256
    assert json.loads(row["config"])["key"] == 0


def test_baselines_are_what_they_say(finished, data):
    rows, log = load_rows(finished), load_task(TASK, data).dataset
    mean = rows.filter(method="mean-reward")["estimate"].item()
    assert mean == pytest.approx(log.rewards.mean() / (1 - 0.5), rel=1e-6)


def test_a_method_without_an_answer_is_recorded_with_its_reason(finished):
    (failure,) = Store(finished).failures()
    assert (failure["method"], failure["refused"]) == ("is", True)
    assert "deterministic" in failure["error"]


def test_curves_show_estimate_loss_and_features(finished):
    curves = load_curves(finished)
    assert set(curves.filter(method="rope+fqe")["stage"]) == {"rope", "fqe"}
    features = {"feature_mean", "feature_std", "feature_size", "feature_codes"}
    assert set(curves["metric"]) == {"loss", "estimate"} | features
    last = curves.filter(pl.col("method") == "fqe", pl.col("metric") == "estimate", pl.col("step") == 20)
    final = load_rows(finished).filter(method="fqe").sort("seed")["estimate"]
    np.testing.assert_allclose(last.sort("seed")["value"], final, rtol=1e-5)


def test_members_do_not_depend_on_their_unit(finished, data, tmp_path, monkeypatch):
    monkeypatch.setattr("ropeval.bench.run.local.LARGEST_UNIT", {"cpu": 3, "gpu": 3})
    run(STUDY.model_copy(update={"methods": ["rope+fqe"]}), tmp_path / "s", data)
    assert len(list((tmp_path / "s" / "units").glob("*rope*.rows.parquet"))) == 3
    np.testing.assert_array_equal(
        scores(tmp_path / "s").filter(method="rope+fqe")["estimate"],
        scores(finished).filter(method="rope+fqe")["estimate"],
    )


def test_what_is_there_is_not_run_again_and_a_study_can_grow(data, tmp_path):
    small = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}})
    run(small, tmp_path / "s", data)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s" / "units").iterdir()}
    again = run(small, tmp_path / "s", data, resume=True)
    assert (again.members, again.skipped) == (0, 4)
    more = run(small.model_copy(update={"seeds": 3}), tmp_path / "s", data, resume=True)
    assert (more.members, more.skipped) == (1, 4)
    assert all(p.stat().st_mtime_ns == when for p, when in before.items())
    assert Store(tmp_path / "s").study().seeds == 3


def test_seconds_are_those_of_all_attempts(data, tmp_path, monkeypatch):
    study, store = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}}), Store(tmp_path / "s")
    store.create(study, resume=False)

    def interrupt(unit, fraction):
        if unit.method == "fqe" and fraction > 0.5:  # half of the steps are saved
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        an_hour_ago = SimpleNamespace(monotonic=lambda: time.monotonic() - 3600)
        patch.setattr("ropeval.bench.run.unit.time", an_hour_ago)  # when this attempt began
        with pytest.raises(KeyboardInterrupt):
            run_study(study, [TASK], store, data, interrupt)
    assert list((tmp_path / "s" / "work").glob("*/fqe.npz"))
    assert run_study(study, [TASK], store, data).members == 2
    seconds = load_rows(tmp_path / "s").filter(method="fqe")["seconds"]
    assert seconds.is_between(3600, 2 * 3600).all()


def test_to_be_interrupted_is_no_failure(data, tmp_path, monkeypatch):
    def lost(*_):
        raise ValueError("setting an array element with a sequence.")  # what NumPy makes of Ctrl-C

    study, store = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}}), Store(tmp_path / "s")
    store.create(study, resume=False)
    monkeypatch.setattr("ropeval.bench.run.local.run_unit", lost)
    assert run_study(study, [TASK], store, data).failed == len(list(store.failures())) > 0
    for path in (tmp_path / "s").rglob("*failed*"):
        path.unlink()
    monkeypatch.setattr("ropeval.interrupts._pressed", True)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, [TASK], store, data)
    assert not list(store.failures())


def test_each_row_has_the_warnings_of_its_member(data, tmp_path, monkeypatch):
    def second_member(features):
        return [Finding("collapse", "severe", f"member {i} collapsed", "beware") if i == 1 else None for i in range(8)]

    monkeypatch.setattr("ropeval.bench.run.unit.collapsed_members", second_member)
    run(STUDY.model_copy(update={"methods": ["rope+fqe", "fqe"]}), tmp_path / "s", data)
    rows = pl.concat(map(pl.read_parquet, sorted((tmp_path / "s" / "units").glob("*.rows.parquet"))))
    said = [json.loads(words) for words in rows.filter(method="rope+fqe")["warnings"]]
    assert said == [[], ["member 1 collapsed; beware"], *[[]] * 6]
    assert set(rows.filter(method="fqe")["warnings"]) == {"[]"}


def test_a_failing_unit_does_not_stop_the_rest_and_is_tried_again(data, tmp_path, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("as planned")

    study = STUDY.model_copy(update={"methods": ["fqe", "lspe"], "grid": {}})
    with monkeypatch.context() as patch:
        patch.setitem(ESTIMATORS, "fqe", replace(ESTIMATORS["fqe"], estimate=broken))
        outcome = run(study, tmp_path / "s", data)
    assert (outcome.failed, outcome.members) == (1, 4)
    (failure,) = Store(tmp_path / "s").failures()
    assert failure["error"] == "ZeroDivisionError: as planned"
    assert not failure["refused"]
    assert run(study, tmp_path / "s", data, resume=True).members == 2
    assert Store(tmp_path / "s").failures() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": "paper"}, "protocol 'standard'"),
        ({"gamma": 0.9}, "never mixed"),
        ({"settings": {"fqe": SMALL | {"width": 9}}}, "settings of fqe"),
    ],
)
def test_results_of_two_kinds_are_never_mixed(finished, change, words):
    with pytest.raises(UserError, match=words):
        Store(finished).create(STUDY.model_copy(update=change), resume=True)


def test_a_study_is_not_overwritten_by_accident(finished, tmp_path):
    with pytest.raises(UserError, match="--resume"):
        Store(finished).create(STUDY, resume=False)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="something else"):
        Store(tmp_path).create(STUDY, resume=False)


def test_rows_of_another_log_are_refused(finished, data, tmp_path):
    collect(find_task(TASK), tmp_path, seed=1, processes=1, truth_episodes=5)
    with pytest.raises(UserError, match="other data"):
        run_study(STUDY.model_copy(update={"seeds": 3}), [TASK], Store(finished), tmp_path)
    with pytest.raises(UserError, match="other data"):  # of a method that the study has no rows of, too
        run_study(STUDY.model_copy(update={"methods": ["lspe"], "grid": {}}), [TASK], Store(finished), tmp_path)


def test_damaged_rows_are_named_whichever_method_is_run(data, tmp_path):
    one = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}})
    run(one, tmp_path / "s", data)
    (path,) = (tmp_path / "s" / "units").glob("*.fqe.*.rows.parquet")
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match="delete it and go on with --resume"):
        run(one.model_copy(update={"methods": ["lspe"]}), tmp_path / "s", data, resume=True)
    with pytest.raises(UserError, match="delete it and go on with --resume"):
        Store(tmp_path / "s").effort()


def test_units_are_sized_to_the_memory(data):
    problem = problem_of(STUDY, load_task(TASK, data))
    rope = next(g for g in make_groups(STUDY, [TASK]) if g.method == "rope+fqe")
    of_one = len(problem.dataset) * 2 * problem.transitions.dim * 4
    assert largest_unit(rope, problem, "gpu", 5 * of_one) == 5
    assert largest_unit(rope, problem, "gpu", of_one // 2) == 1
    assert largest_unit(rope, problem, "gpu", 10**6 * of_one) == 180
    fqe = next(g for g in make_groups(STUDY, [TASK]) if g.method == "fqe")
    assert largest_unit(fqe, problem, "gpu", 1) == 180


def test_status_counts_what_is_done_and_what_runs(finished):
    store = Store(finished)
    groups = make_groups(STUDY, [TASK])
    with store.claim(groups[2]):
        states = list(study_status(STUDY, [TASK], store))
    assert sum(s.done for s in states) == 12
    assert [s.running for s in states] == [False, False, True, False, False]
    assert [s.refused for s in states] == [False] * 4 + [True]
    assert states[3].steps == 40


def call(*words: str) -> None:
    """The program, which must end well."""
    with pytest.raises(SystemExit) as left:
        main(["bench", *words])
    assert not left.value.code


def write_toml(path: Path) -> Path:
    lines = [f'tasks = ["{TASK}"]', 'methods = ["fqe", "rope+fqe", "is"]', "seeds = 2", "steps = 20"]
    lines += [f"[settings.{part}]\nwidth = 8\ndepth = 1\nbatch = 8" for part in ("fqe", "rope")]
    lines += ['[grid."rope+fqe"]', '"rope.beta" = [0.1, 1.0]', '"rope.dim" = [2, 3]']
    path.write_text("\n".join(lines))
    return path


def test_two_processes_one_of_them_killed_and_then_resumed(finished, data, tmp_path, capsys):
    study, out = write_toml(tmp_path / "toy.toml"), tmp_path / "out"
    words = ["run", str(study), "--out", str(out), "--data", str(data), "--resume"]
    command = [sys.executable, "-m", "ropeval", "bench", *words]
    pair = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    deadline = time.monotonic() + 300
    while not list(out.glob("units/*.rows.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    pair[0].send_signal(signal.SIGKILL)
    assert pair[1].wait(300) == 0
    pair[0].wait()
    call(*words)
    assert scores(out).equals(scores(finished))
    assert not list((out / "work").glob("*.json"))
    capsys.readouterr()
    call("status", str(out))
    assert "12 of 12 members done" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "none.toml"], "no such study"),
        (["run", "smoke.toml", "--tasks", "d4rl/*"], "task of this study"),
        (["run", "smoke.toml", "--methods", "fqx"], "method of this study"),
        (["run", "smoke.toml", "--seeds", "0"], "--seeds is 0"),
        (["run", "paper.toml"], "--policies DIR"),
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
