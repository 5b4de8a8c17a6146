"""A method applied: encoder first, then the estimator on what it made."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.encoders import ENCODERS
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS, Estimated, Estimator
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import make_method
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.settings import PartConfig
from tests.problems import Chain


def trained(stage):
    return Trained(stage, None, np.array([1]), {}, np.array([-1]))


@pytest.fixture
def problem(monkeypatch):
    """Double: features times two. Sum: the sum of the first row's features."""

    def double(problem, config, run):
        return Encoded(problem.with_features(lambda s, a: 2 * s), (trained(run.part),), ("doubled",))

    def add(problem, config, run):
        total = np.asarray(problem.transitions.rows.x[0]).sum()
        return Estimated(np.array([total]), (trained(run.part),), ("added",))

    monkeypatch.setitem(ENCODERS, "double", Encoder("double", PartConfig, double, "…"))
    monkeypatch.setitem(ESTIMATORS, "add", Estimator("add", PartConfig, add, "…", takes_features=True))
    chain = Chain()
    return make_problem(chain.log(3), chain.policy(0.5), 0.9)


def test_the_estimator_sees_the_encoders_features(problem):
    run = Run(member_keys(0, 1))
    alone, after = (fit(problem, make_method(name), run) for name in ("add", "double+add"))
    assert alone.features is None
    assert after.features is after.problem.transitions
    assert after.estimated.values[0] == pytest.approx(2 * problem.dataset.observations[0].sum())
    assert alone.problem is problem
    assert list(after.trained) == ["double", "add"]
    assert (alone.remarks, after.remarks) == (("added",), ("doubled", "added"))


def test_programs_of_logs_before_this_one_are_let_go(problem, monkeypatch):
    called = []
    monkeypatch.setattr("ropeval.evaluation.fit.release_compiled", lambda: called.append(True))
    fit(problem, make_method("add"), Run(member_keys(0, 1)))
    assert called == [True]


def test_a_setting_that_no_part_asks_for_is_refused(problem):
    with pytest.raises(UserError, match=r"unknown setting that members of one run of add may differ in 'add\.rate'"):
        fit(problem, make_method("add"), Run(member_keys(0, 1), settings={"add.rate": [1.0]}))
