"""Running a study: every member once, nothing lost, nothing twice, whatever happens."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.task_data import Judged, load_task
from ropeval.bench.data.tasks import find_task
from ropeval.bench.data.truth import Value
from ropeval.bench.results.curve_bands import gather
from ropeval.bench.results.missing import find_gaps_of_all
from ropeval.bench.results.rows import load_curves, load_rows
from ropeval.bench.results.together import load_results
from ropeval.bench.run.local import largest_unit, run_study, study_status
from ropeval.bench.run.problems import Problems
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import make_groups
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.files import write_parquet
from ropeval.learning import arrangements
from ropeval.learning.arrangements import Vectorised
from ropeval.policies import CallablePolicy
from tests import struck
from tests.bench.played_here import HERE
from tests.bench.run.toy_study import MEMBERS, SCORES, SMALL, STUDY, TASK, call, run, scores, write_toml


@pytest.mark.training
def test_every_member_has_one_row(finished):
    rows = load_rows(finished)
    assert dict(rows.group_by("method").len().iter_rows()) == MEMBERS
    assert len(rows.unique(["method", "hyper", "seed"])) == len(rows)
    rope = rows.filter(method="rope+fqe")
    assert set(rope["hyper"]) == {f'{{"rope.beta":{b},"rope.dim":{d}}}' for b in (0.1, 1.0) for d in (2, 3)}
    assert not rope["default"].any()
    assert rows.filter(method="fqe")["default"].all()


@pytest.mark.training
def test_a_method_without_an_answer_is_recorded_with_its_reason(finished):
    (failure,) = Store(finished).failures()
    assert (failure["method"], failure["refused"]) == ("is", True)
    assert "deterministic" in failure["error"]


@pytest.mark.training
def test_members_do_not_depend_on_their_unit(finished, data, tmp_path, monkeypatch):
    monkeypatch.setattr("ropeval.bench.run.local.LARGEST_UNIT", {"cpu": 3, "gpu": 3})
    run(STUDY.model_copy(update={"methods": ["rope+fqe"]}), tmp_path / "s", data)
    assert len(list((tmp_path / "s" / "units").glob("*rope*.rows.parquet"))) == 3
    np.testing.assert_array_equal(
        scores(tmp_path / "s").filter(method="rope+fqe")["estimate"],
        scores(finished).filter(method="rope+fqe")["estimate"],
    )


@pytest.mark.training
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


@pytest.mark.training
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


@pytest.mark.training
def test_rows_of_another_log_are_refused(finished, data, tmp_path):
    collect(find_task(TASK), tmp_path, seed=1, truth_episodes=5, pool=HERE)
    with pytest.raises(UserError, match="other data"):
        run_study(STUDY.model_copy(update={"seeds": 3}), [TASK], Store(finished), tmp_path)
    with pytest.raises(UserError, match="other data"):  # of a method that the study has no rows of, too
        run_study(STUDY.model_copy(update={"methods": ["lspe"], "grid": {}}), [TASK], Store(finished), tmp_path)


@pytest.mark.training
def test_damaged_rows_are_named_whichever_method_is_run(data, tmp_path):
    one = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}})
    run(one, tmp_path / "s", data)
    (path,) = (tmp_path / "s" / "units").glob("*.fqe.*.rows.parquet")
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match="delete it and go on with --resume"):
        run(one.model_copy(update={"methods": ["lspe"]}), tmp_path / "s", data, resume=True)
    with pytest.raises(UserError, match="delete it and go on with --resume"):
        Store(tmp_path / "s").effort()


def test_effort_of_a_method_that_finds_its_own_number_of_steps(tmp_path):
    rows = [
        {
            "unit": f"t.{method}.0.0",
            "config": json.dumps({method: {"steps": steps}, "resamples": 5}),
            "seconds": 2.0,
            "policy": "p",
        }
        for method, steps in (("world", None), ("fqe", 10))
    ]
    for row in rows:
        write_parquet(tmp_path / "units" / f"{row['unit']}.rows.parquet", pl.DataFrame([row]))
    assert Store(tmp_path).effort() == (2.0, 50.0)


def test_units_are_sized_to_the_memory(data):
    problem = Problems(STUDY, load_task(TASK, data)).first
    rope = next(g for g in make_groups(STUDY, [TASK]) if g.method == "rope+fqe")
    of_one = len(problem.dataset) * 2 * problem.transitions.dim * 4
    assert largest_unit(rope, problem, "gpu", 5 * of_one) == 5
    assert largest_unit(rope, problem, "gpu", of_one // 2) == 1
    assert largest_unit(rope, problem, "gpu", 10**6 * of_one) == 180
    fqe = next(g for g in make_groups(STUDY, [TASK]) if g.method == "fqe")
    assert largest_unit(fqe, problem, "gpu", 1) == 180


@pytest.mark.training
def test_status_counts_what_is_done_and_what_runs(finished):
    store = Store(finished)
    groups = make_groups(STUDY, [TASK])
    with store.claim(groups[2]):
        states = list(study_status(STUDY, [TASK], store))
    assert sum(s.done for s in states) == 12
    assert [s.running for s in states] == [False, False, True, False, False]
    assert [s.refused for s in states] == [False] * 4 + [True]
    assert states[3].steps == 40


@pytest.mark.process
@pytest.mark.training  # what the killed one left may be up to this process
def test_two_processes_one_of_them_killed_and_then_resumed(finished, data, tmp_path, capsys):
    study, out = write_toml(tmp_path / "toy.toml"), tmp_path / "out"
    words = ["run", str(study), "--out", str(out), "--data", str(data), "--resume"]
    killed = struck.start(signal.SIGKILL, "ropeval.bench.run.store:Store.write", "bench", *words)
    with killed, subprocess.Popen([sys.executable, "-m", "ropeval", "bench", *words]) as other:
        assert other.wait() == 0
        assert killed.wait() in (-signal.SIGKILL, 0)  # 0: the other was so fast that it had nothing to write
    call(*words)
    assert scores(out).equals(scores(finished))
    assert not list((out / "work").glob("*.json"))
    capsys.readouterr()
    call("status", str(out))
    assert "12 of 12 members done" in " ".join(capsys.readouterr().out.split())


class TestManyPolicies:
    """The toy's log, and three policies judged from it: two that always do the same, one that draws."""

    NAMES = ("half", "none", "quarter")
    ONE = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}})

    @pytest.fixture
    def judge(self, data, monkeypatch):
        """Lets `run_study` find these policies in the toy task."""

        def judged(*names: str) -> None:
            task = load_task(TASK, data)
            truth = task.judged["evaluated"].truth
            made = {name: CallablePolicy(constant(name), True, name) for name in names}
            policies = {
                name: Judged(
                    policy,
                    truth.model_copy(update={"discounted": Value(value=ACTIONS[name], standard_error=0.0)}),
                    "test" if name == "half" else "dev",
                )
                for name, policy in made.items()
            }
            monkeypatch.setattr("ropeval.bench.run.local.load_task", lambda *_: replace(task, judged=policies))

        return judged

    @pytest.mark.training
    def test_each_policy_has_its_rows_and_its_truth(self, judge, data, tmp_path):
        judge(*self.NAMES)
        outcome = run(self.ONE, tmp_path / "s", data)
        rows = load_rows(tmp_path / "s")
        assert (outcome.units, outcome.members, len(rows)) == (3, 4, 12)
        assert {(p, t) for p, t in rows.select("policy", "truth_discounted").iter_rows()} == set(ACTIONS.items())
        assert len(list((tmp_path / "s" / "units").glob("*.rows.parquet"))) == 3  # one file a unit
        assert rows.filter(method="mean-reward")["estimate"].n_unique() == 1
        means = rows.filter(method="fqe").group_by("policy").agg(pl.col("estimate").mean())
        assert means["estimate"].n_unique() == 3
        assert set(load_curves(tmp_path / "s")["policy"]) == set(self.NAMES)

    @pytest.mark.training
    def test_a_policy_that_came_later_is_judged_alone(self, judge, data, tmp_path):
        judge("half", "none")
        run(self.ONE, tmp_path / "s", data)
        before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s" / "units").iterdir()}
        judge(*self.NAMES)
        again = run(self.ONE, tmp_path / "s", data, resume=True)
        assert (again.units, again.members, again.skipped) == (3, 4, 0)
        assert all(p.stat().st_mtime_ns == when for p, when in before.items())
        assert load_rows(tmp_path / "s").group_by("policy").len()["len"].to_list() == [4, 4, 4]
        assert run(self.ONE, tmp_path / "s", data, resume=True).skipped == 4

    @pytest.mark.training
    def test_alone_or_in_company_a_policy_has_the_same_numbers(self, judge, data, tmp_path):
        for name, policies in (("all", self.NAMES), ("one", ("none",))):
            judge(*policies)
            run(self.ONE, tmp_path / name, data)
        assert scores(tmp_path / "one").equals(
            load_rows(tmp_path / "all").filter(policy="none").select(SCORES).sort(SCORES[:4])
        )

    @pytest.mark.training
    def test_one_that_is_refused_does_not_stop_the_others(self, judge, data, tmp_path, monkeypatch):
        def no_half(dataset, policy):
            if policy.name == "half":
                raise UserError("not half")

        judge(*self.NAMES)
        with monkeypatch.context() as patch:
            patch.setitem(ESTIMATORS, "fqe", replace(ESTIMATORS["fqe"], check=no_half))
            outcome = run(self.ONE, tmp_path / "s", data)
        assert (outcome.refused, outcome.failed) == (1, 0)
        (failure,) = Store(tmp_path / "s").failures()
        assert (failure["policy"], failure["error"], failure["refused"]) == ("half", "not half", True)
        assert set(load_rows(tmp_path / "s").filter(method="fqe")["policy"]) == {"none", "quarter"}
        results = load_results([tmp_path / "s"])
        (gap,) = find_gaps_of_all(results.parts, results.rows)
        assert (gap.task, gap.method, gap.reason) == ("toy/countdown · half", "fqe", "not half")
        assert run(self.ONE, tmp_path / "s", data, resume=True).members == 2
        assert set(load_rows(tmp_path / "s").filter(method="fqe")["policy"]) == set(self.NAMES)
        assert Store(tmp_path / "s").failures() == []

    @pytest.mark.training
    def test_as_on_an_accelerator_policies_train_together(self, judge, data, tmp_path, monkeypatch):
        """Two at a time; nobody waits for company where something is prepared for all."""
        small = {"width": 8, "depth": 1, "batch": 8, "rollouts": 10}
        settings = {"fqe": SMALL, "rope": SMALL, "model": small}
        study = self.ONE.model_copy(update={"methods": ["fqe", "rope+fqe", "model"], "settings": settings})
        judge(*self.NAMES)
        monkeypatch.setattr("ropeval.learning.engine._choose", lambda arrangement, transitions: Vectorised)
        run(study, tmp_path / "alone", data)
        monkeypatch.setattr("ropeval.bench.run.unit._at_once", lambda *_: 2)
        joined = Mock(wraps=arrangements._chunk_of_runs)
        monkeypatch.setattr("ropeval.learning.arrangements._chunk_of_runs", joined)
        assert run(study, tmp_path / "together", data).failed == 0
        assert joined.call_count == 3 * 2  # fqe, rope and fqe on its features, two chunks each; the third is alone
        one, other = (
            load_rows(tmp_path / name).sort("method", "policy", "seed").select("method", "policy", "seed", "estimate")
            for name in ("alone", "together")
        )
        assert one.drop("estimate").equals(other.drop("estimate"))
        np.testing.assert_allclose(one["estimate"], other["estimate"], rtol=1e-3)

    @pytest.mark.training
    def test_what_all_policies_share_is_made_and_kept_once(self, judge, data, tmp_path):
        small = {"width": 8, "depth": 1, "batch": 8, "rollouts": 10}
        study = self.ONE.model_copy(update={"methods": ["model", "fqe"], "settings": {"fqe": SMALL, "model": small}})
        judge(*self.NAMES)
        run(study, tmp_path / "s", data)
        rows, curves = load_rows(tmp_path / "s"), load_curves(tmp_path / "s")
        assert set(curves.filter(method="model")["policy"]) == {""}
        assert set(curves.filter(method="fqe")["policy"]) == set(self.NAMES)
        (prepare,) = rows.filter(method="model")["seconds_prepare"].unique()
        assert prepare > 0
        assert (rows["seconds"] >= 0).all()
        assert (
            rows.filter(method="fqe")["seconds_prepare"] < prepare
        ).all()  # which lays the log out, and trains nothing
        found = {case for case, method, *_ in gather(curves, rows) if method == "model"}
        assert found == {f"toy/countdown · {name}" for name in self.NAMES}

    @pytest.mark.training
    def test_a_study_of_one_split_judges_its_policies(self, judge, data, tmp_path):
        judge(*self.NAMES)
        run(self.ONE.model_copy(update={"split": "test"}), tmp_path / "s", data)
        rows = load_rows(tmp_path / "s")
        assert set(rows.select("policy", "split").iter_rows()) == {("half", "test")}

    @pytest.mark.training
    def test_status_counts_a_member_when_all_policies_are_done(self, judge, data, tmp_path):
        judge("half", "none")
        run(self.ONE, tmp_path / "s", data)
        for path in (tmp_path / "s" / "units").glob("*.fqe.*.rows.parquet"):
            pl.read_parquet(path).filter(pl.col("policy") == "none").write_parquet(path)
        states = list(study_status(self.ONE, [TASK], Store(tmp_path / "s")))
        assert [s.done for s in states] == [1, 1, 0]
        assert states[2].steps == 2 * 20


ACTIONS = {"half": 0.5, "none": 0.0, "quarter": 0.25}


def constant(name: str):
    def act(observations):
        return np.full((len(observations), 1), ACTIONS[name], np.float32)

    return act
