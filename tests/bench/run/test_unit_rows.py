"""A unit's findings as rows."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ropeval.bench.data.truth import PolicyTruth, Value
from ropeval.bench.run.study import Member, Study, Unit
from ropeval.bench.run.unit_rows import judged_columns, member_rows, resampled_row
from ropeval.data import make_problem
from ropeval.estimators import Estimated
from ropeval.estimators.estimator import EffectiveSize
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.methods import make_method
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.learning.resample import Resamples
from tests.evaluation.diagnosis.evidences import covering
from tests.problems import Chain

STUDY = Study(name="s", tasks=["t"], methods=["fqe"], seeds=2)
UNIT = Unit("t", "fqe", (Member({}, 4), Member({"fqe.width": 8}, 5)), "u", {"fqe.width": [8, 16]}, ("a",))


@pytest.fixture(scope="module")
def problem():
    chain = Chain()
    return make_problem(chain.log(10), chain.policy(0.5), 0.9)


def fitted(problem, values, **estimated):
    trained = Trained("fqe", None, np.array([10]), {}, np.array([-1, 10]))
    return Fitted(problem, Estimated(np.array(values), **estimated), {"fqe": trained}, None, ("odd features",))


def test_every_member_has_its_row_as_it_came_out(problem):
    effective = EffectiveSize(3.5, per_decision=True)
    one, other = member_rows(STUDY, UNIT, fitted(problem, [50.0, np.nan], effective=effective, extras={"k": 1}))
    assert (one["estimate"], one["diverged"], one["diverged_at"]) == (50.0, False, -1)  # neither left out nor cut
    assert (other["estimate"], other["diverged"], other["diverged_at"]) == (None, True, 10)
    assert [row["seed"] for row in (one, other)] == [4, 5]
    assert [row["hyper"] for row in (one, other)] == ["{}", '{"fqe.width":8}']
    assert (one["default"], other["default"]) == (True, False)
    assert json.loads(one["warnings"]) == [{"code": "method", "severity": "warning", "message": "odd features"}]
    assert json.loads(one["extras"]) == {"effective_size": 3.5, "k": 1}
    assert json.loads(other["config"])["fqe"]["width"] == 8
    assert json.loads(other["config"])["grid"] == {"fqe.width": [8, 16]}


def test_where_nothing_is_random_all_have_the_one_value(problem):
    rows = member_rows(STUDY, UNIT, fitted(problem, [0.5]))
    assert [row["estimate"] for row in rows] == [0.5, 0.5]


def test_a_study_that_resamples_has_one_row_with_the_interval(problem):
    study = Study(name="s", tasks=["t"], methods=["fqe"], seeds=2, resample=True)
    run = Run(member_keys(0, 2), resamples=Resamples(0, 10))
    found = Fitted(problem, Estimated(np.array([0.4, 0.6])), {}, None, ())
    (row,) = resampled_row(study, UNIT, make_method("fqe"), found, run, covering(0.1))
    assert row["estimate"] == pytest.approx(0.5)
    assert row["low"] < 0.4 < 0.6 < row["high"]
    about = json.loads(row["extras"])
    assert about["spread"] == pytest.approx(np.std([0.4, 0.6], ddof=1))
    assert (about["members"], about["diverged"], about["left_out"]) == (2, 0, 0)
    assert json.loads(row["config"])["resamples"] == 2


def test_the_truth_stands_beside_in_both_definitions():
    truth, random = (
        PolicyTruth(
            discounted=Value(value=v, standard_error=0.1), mean_reward=Value(value=2 * v, standard_error=0.2),
            mean_return=0.0, mean_length=1.0, episodes=9,
        )
        for v in (1.0, -1.0)
    )  # fmt: skip
    judged = SimpleNamespace(truth=truth, split="test")
    columns = judged_columns(SimpleNamespace(judged={"a": judged}, random=random), "a")
    assert columns == {
        "policy": "a", "split": "test",
        "truth_discounted": 1.0, "truth_discounted_se": 0.1, "truth_mean_reward": 2.0, "truth_mean_reward_se": 0.2,
        "random_discounted": -1.0, "random_discounted_se": 0.1,
        "random_mean_reward": -2.0, "random_mean_reward_se": 0.2,
    }  # fmt: skip
    alone = judged_columns(SimpleNamespace(judged={"a": judged}, random=None), "a")
    assert not any(name.startswith("random") for name in alone)
