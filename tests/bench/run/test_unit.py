"""What a unit leaves behind: rows that know what they came from, and curves."""

import json
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from ropeval.bench.data.task_data import load_task
from ropeval.bench.results.rows import load_curves, load_rows
from ropeval.bench.run.local import run_study
from ropeval.bench.run.schema import ROWS
from ropeval.bench.run.store import Store
from ropeval.evaluation.evaluate import evaluate
from ropeval.evaluation.fit import fit
from ropeval.evaluation.result import Finding
from tests.bench.run.toy_study import STUDY, TASK, run


@pytest.mark.training
def test_rows_know_both_truths_and_what_they_came_from(finished, data):
    row, task = load_rows(finished).row(0, named=True), load_task(TASK, data)
    assert row["truth_discounted"] == task.judged["evaluated"].truth.discounted.value
    assert row["truth_mean_reward"] == task.judged["evaluated"].truth.mean_reward.value
    assert row["random_mean_reward_se"] == task.random.mean_reward.standard_error
    assert row["data_sha256"] == task.dataset.sha256
    assert json.loads(row["config"])["key"] == 0


@pytest.mark.training
def test_every_file_of_rows_has_the_same_types(finished):
    """Also where nothing was prepared for the log: whoever puts the files together need not mend them."""
    for path in (finished / "units").glob("*.rows.parquet"):
        assert pl.read_parquet_schema(path) == ROWS


@pytest.mark.training
def test_baselines_are_what_they_say(finished, data):
    rows, log = load_rows(finished), load_task(TASK, data).dataset
    mean = rows.filter(method="mean-reward")["estimate"].item()
    assert mean == pytest.approx(log.rewards.mean() / (1 - 0.5), rel=1e-6)


@pytest.mark.training
def test_curves_show_estimate_loss_and_features(finished):
    curves = load_curves(finished)
    assert set(curves.filter(method="rope+fqe")["stage"]) == {"rope", "fqe"}
    features = {"feature_mean", "feature_std", "feature_size", "feature_codes"}
    assert set(curves["metric"]) == {"loss", "estimate"} | features
    last = curves.filter(pl.col("method") == "fqe", pl.col("metric") == "estimate", pl.col("step") == 20)
    final = load_rows(finished).filter(method="fqe").sort("seed")["estimate"]
    np.testing.assert_allclose(last.sort("seed")["value"], final, rtol=1e-5)


@pytest.mark.training
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
    assert list((tmp_path / "s" / "work").glob("*/*/fqe.npz"))
    assert run_study(study, [TASK], store, data).members == 2
    seconds = load_rows(tmp_path / "s").filter(method="fqe")["seconds"]
    assert seconds.is_between(3600, 2 * 3600).all()


@pytest.mark.training
def test_each_row_has_the_warnings_of_its_member(data, tmp_path, monkeypatch):
    def second_member(features):
        return [Finding("collapse", "severe", f"member {i} collapsed", "beware") if i == 1 else None for i in range(8)]

    monkeypatch.setattr("ropeval.bench.run.unit_rows.collapsed_members", second_member)
    run(STUDY.model_copy(update={"methods": ["rope+fqe", "fqe"]}), tmp_path / "s", data)
    rows = pl.concat(map(pl.read_parquet, sorted((tmp_path / "s" / "units").glob("*.rows.parquet"))))
    said = [json.loads(words) for words in rows.filter(method="rope+fqe")["warnings"]]
    warning = {"code": "collapse", "severity": "severe", "message": "member 1 collapsed; beware"}
    assert said == [[], [warning], *[[]] * 6]
    assert set(rows.filter(method="fqe")["warnings"]) == {"[]"}


@pytest.mark.training
def test_a_study_that_resamples_gives_one_row_with_an_interval(data, tmp_path):
    grid = {"rope+fqe": {"rope.beta": [0.1, 1.0]}}
    study = STUDY.model_copy(update={"methods": ["fqe", "rope+fqe"], "grid": grid, "seeds": 4, "resample": True})
    outcome = run(study, tmp_path / "s", data)
    rows = load_rows(tmp_path / "s")
    assert outcome.members == len(rows) == 2 + 1 + 2  # trivial ones, fqe, the grid's settings
    assert set(rows["seed"]) == {0}
    assert (rows["low"] < rows["estimate"]).all()
    assert (rows["estimate"] < rows["high"]).all()
    fqe = rows.filter(method="fqe").row(0, named=True)
    about = json.loads(fqe["extras"])
    assert (about["members"], about["diverged"]) == (4, 0)
    assert about["spread"] > 0
    curves = load_curves(tmp_path / "s").filter(method="fqe", metric="estimate", step=20)
    assert sorted(curves["seed"]) == [0, 1, 2, 3]
    assert run(study, tmp_path / "s", data, resume=True).members == 0


@pytest.mark.training
@pytest.mark.parametrize(
    ("shares", "left_out", "kind"),
    [((0.2, 0.3, 0.4), 0, "t"), ((0.2, 0.3, 3.0), 1, "t"), ((3.0, 3.1, 3.2), 0, "bounds")],
)
def test_a_resampled_row_is_what_evaluate_says(data, tmp_path, monkeypatch, shares, left_out, kind):
    """Also where members are beyond all that the rewards allow. `shares` of the largest value is what they say."""

    def say(problem, method, run):
        fitted = fit(problem, method, run)
        values = np.array(shares) * problem.log.bounds.reach
        return replace(fitted, estimated=replace(fitted.estimated, values=values)) if method.name == "fqe" else fitted

    monkeypatch.setattr("ropeval.bench.run.unit.fit", say)
    monkeypatch.setattr(sys.modules["ropeval.evaluation.evaluate"], "fit", say)
    study = STUDY.model_copy(update={"methods": ["fqe"], "grid": {}, "seeds": 3, "resample": True})
    run(study, tmp_path / "s", data)
    row = load_rows(tmp_path / "s").filter(method="fqe").row(0, named=True)
    task = load_task(TASK, data)
    settings = {"fqe": {**study.settings["fqe"], "steps": 20}}
    known = evaluate(
        task.dataset, task.judged["evaluated"].policy, "fqe", gamma=task.task.gamma, members=3, settings=settings
    )
    assert row["estimate"] == pytest.approx(known.value)
    assert (row["low"], row["high"]) == pytest.approx((known.interval.low, known.interval.high))
    assert json.loads(row["extras"])["left_out"] == len(known.left_out) == left_out
    assert known.interval.kind == kind
