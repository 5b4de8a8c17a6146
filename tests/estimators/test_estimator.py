"""What members' values come to, and what is prepared for an estimator."""

import numpy as np
import pytest

from ropeval.data import Log
from ropeval.estimators.estimator import REPLICATES, Estimated, Estimator, averaged, exact, replicated
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from ropeval.settings import PartConfig
from tests.problems import Chain

NONE, FIRST = np.zeros(2, bool), np.array([True, False])


def test_the_answer_is_the_mean_of_those_that_did_not_diverge():
    value, replicates = Estimated(np.array([1.0, 3.0])).answer(NONE)
    assert (value, replicates.tolist()) == (2.0, [1.0, 3.0])
    value, replicates = Estimated(np.array([1e9, 3.0])).answer(FIRST)
    assert value == 3.0
    np.testing.assert_array_equal(replicates, [np.nan, 3.0])


def test_where_all_diverged_there_is_no_answer():
    value, replicates = Estimated(np.array([1.0, 3.0])).answer(~NONE)
    assert value is None
    assert np.isnan(replicates).all()


def test_members_that_know_more_together_move_with_what_they_say():
    value, replicates = Estimated(np.array([1.0, 3.0]), value=5.0).answer(NONE)
    assert (value, replicates.tolist()) == (5.0, [4.0, 6.0])


def test_replicates_of_its_own_are_kept_as_they_are():
    own = np.array([7.0, 8.0, 9.0])
    for diverged in (NONE, FIRST, ~NONE):
        assert Estimated(np.array([1.0, 3.0]), replicates=own).answer(diverged)[1] is own


def test_an_exact_estimate_on_the_log_and_on_its_resamples():
    returns = np.array([0.0, 1.0, 5.0])

    def average(counts):
        assert counts.sum() == 3
        return float(counts @ returns / counts.sum())

    value, none = replicated(Run(member_keys(0, 2)), np.ones(3, int), average)
    assert (value.tolist(), none) == ([2.0], None)
    value, several = replicated(Run(member_keys(0, 2), resamples=Resamples(0, 3)), np.ones(3, int), average)
    assert value.tolist() == [2.0]
    assert several.shape == (REPLICATES,)
    assert several.mean() == pytest.approx(2.0, abs=5 * returns.std() / (3 * REPLICATES) ** 0.5)


def test_some_episodes_alone():
    returns, run = np.array([1.0, 2.0, 30.0]), Run(member_keys(0, 2), resamples=Resamples(0, 3))
    found = exact(run, 3, lambda counts: float(counts @ returns / counts.sum()))
    assert found.values.tolist() == [11.0]
    last = found.among(np.array([False, False, True]))
    assert last.values.tolist() == [30.0]
    missing = (run.resamples.counts(0, REPLICATES)[:, 2] == 0).mean()
    assert np.isnan(last.replicates).mean() == missing > 0.1
    assert set(last.replicates[np.isfinite(last.replicates)]) == {30.0}


def test_members_average_over_their_own_logs_and_groups():
    values, run = np.array([[1.0, 2.0, 30.0], [2.0, 3.0, 40.0]]), Run(member_keys(0, 2), resamples=Resamples(1, 3))
    found, held = averaged(run, values), np.array([True, True, False])
    counts = run.resamples.counts(0, 2)
    np.testing.assert_allclose(found.values, np.average(values, axis=1, weights=counts))
    np.testing.assert_allclose(
        found.among(held).values, (counts * values)[:, :2].sum(axis=1) / counts[:, :2].sum(axis=1)
    )


def test_what_was_prepared_is_handed_over_and_prepared_once():
    asked = []

    def prepare(log, config, run):
        asked.append(log)
        return "prepared"

    def estimate(problem, config, run, *given):
        return Estimated(np.zeros(1), warnings=given)

    chain = Chain()
    log = Log(chain.log(5), 0.9)
    with_it, without = (
        Estimator("own", PartConfig, estimate, "…", takes_features=False, prepare=p) for p in (prepare, None)
    )
    run = Run(member_keys(0, 1))
    for right in (0.2, 0.8):
        problem = log.problem(chain.policy(right))
        assert with_it(problem, PartConfig(), run).warnings == ("prepared",)
        assert without(problem, PartConfig(), run).warnings == ()
    assert asked == [log]
