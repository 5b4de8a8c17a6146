"""A policy against what the log earned."""

import numpy as np
import pytest

import ropeval
from ropeval.data import make_problem
from ropeval.estimators.estimator import EffectiveSize, Estimated
from ropeval.evaluation.result import Estimate, Interval
from ropeval.evaluation.versus_log import compare_with_log, logged_returns
from ropeval.learning.resample import Resamples
from tests.problems import Chain, LinearQuadratic

CHAIN = Chain(size=2, gamma=0.7)


@pytest.fixture(scope="module")
def log():
    return CHAIN.log(300, log_probs=True)


def test_a_better_policy_is_better_and_the_difference_is_that_of_the_values(log):
    found = ropeval.evaluate(log, CHAIN.policy(1.0), "wis", gamma=0.7)
    versus = found.versus_log
    assert versus.difference == pytest.approx(found.value - versus.log_value)
    true = CHAIN.values(1.0)[1] - CHAIN.values(0.5)[1]
    assert 0.0 < versus.low < true < versus.high
    assert versus.better > 0.99
    assert versus.share == pytest.approx(versus.difference / versus.log_value)
    assert ropeval.evaluate(log, CHAIN.policy(0.1), "wis", gamma=0.7).versus_log.better < 0.01
    assert Estimate.from_json(found.to_json()).versus_log == versus
    assert "over what the log earned" in repr(found)


def test_luck_that_both_share_cancels_out(log):
    """The behaviour itself is worth exactly what the log earned, on every resample."""
    versus = ropeval.evaluate(log, CHAIN.policy(0.5), "is", gamma=0.7).versus_log
    assert max(abs(versus.difference), abs(versus.low), abs(versus.high)) < 1e-6


def test_the_log_itself_is_not_compared_and_without_resamples_nothing_is_sure(log):
    assert ropeval.evaluate(log, CHAIN.policy(0.5), "mean-return", gamma=0.7).versus_log is None
    versus = ropeval.evaluate(log, CHAIN.policy(1.0), "wis", gamma=0.7, resample=False).versus_log
    assert versus.difference > 0.0
    assert versus.low is versus.high is versus.better is None


def test_there_is_no_comparison_without_an_estimate():
    returns, resamples, replicates = np.arange(10.0), Resamples(0, 10), np.arange(200.0)
    beyond = Interval(0.0, 9.0, 0.95, "bounds", 200, 10)
    assert compare_with_log(None, replicates, None, returns, resamples) is None
    assert compare_with_log(3.0, replicates, beyond, returns, resamples) is None


def test_where_most_of_it_was_cut_off_nothing_is_compared():
    """At γ = 0.9 half of what counts is over after seven steps."""
    task = LinearQuadratic()
    for length, there in ((3, False), (20, True)):
        problem = make_problem(task.log(50, length=length), task.policy(0.0), task.gamma, draws=2)
        assert (logged_returns(problem, Estimated(np.zeros(2))) is not None) is there
        assert logged_returns(problem, Estimated(np.zeros(2), effective=EffectiveSize(7.0, True, 0.5))) is not None
    assert compare_with_log(3.0, np.arange(200.0), None, None, None) is None


def test_a_log_that_costs_has_no_share():
    versus = compare_with_log(-8.0, np.zeros(0), None, np.full(5, -10.0), None)
    assert (versus.difference, versus.log_value, versus.share) == (2.0, -10.0, None)
