"""What the members' estimates come to."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators import Estimated
from ropeval.evaluation.conclude import conclude
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.methods import make_method
from ropeval.learning.resample import Resamples
from tests.problems import Chain

CHAIN = Chain()


@pytest.fixture(scope="module")
def problem():
    """Rewards of 0 and 1, and γ = 0.9: no policy is worth more than 10."""
    return make_problem(CHAIN.log(30), CHAIN.policy(0.5), 0.9)


def concluded(problem, values, method="fqe", resamples=True, **estimated):
    fitted = Fitted(problem, Estimated(np.array(values, float), **estimated), {}, None, ())
    return conclude(fitted, make_method(method), Resamples(0, 30) if resamples else None)


def test_the_mean_and_an_interval_around_it(problem):
    said = concluded(problem, [0.4, 0.5, 0.6])
    assert said.value == pytest.approx(0.5)
    assert said.interval.low < 0.5 < said.interval.high
    assert said.interval.kind == "t"
    assert said.good.tolist() == [0.4, 0.5, 0.6]


def test_without_resamples_there_is_no_interval(problem):
    said = concluded(problem, [0.4, 0.6], resamples=False)
    assert (said.value, said.interval) == (0.5, None)


def test_who_is_beyond_the_rewards_is_left_out_and_who_diverged_too(problem):
    bounds = concluded(problem, [0.5]).bounds
    said = concluded(problem, [0.5, 0.6, 2 * bounds.high, np.nan])
    assert said.value == pytest.approx(0.55)
    assert said.diverged.tolist() == [False, False, False, True]
    assert said.left_out.tolist() == [False, False, True, False]
    assert np.isnan(said.replicates[2:]).all()


def test_where_all_are_beyond_the_answer_is_cut(problem):
    bounds = concluded(problem, [0.5]).bounds
    said = concluded(problem, [2 * bounds.high, 3 * bounds.high])
    assert said.value == bounds.high
    assert said.good.tolist() == [bounds.high] * 2
    assert said.interval.kind == "bounds"
    assert (said.interval.low, said.interval.high) == (bounds.low, bounds.high)


def test_where_all_diverged_nothing_is_said(problem):
    said = concluded(problem, [np.nan, np.inf])
    assert (said.value, said.interval, said.good.tolist()) == (None, None, [])


def test_a_baseline_is_a_fact_and_has_no_bounds(problem):
    bounds = concluded(problem, [0.5]).bounds
    assert concluded(problem, [2 * bounds.high], "mean-return").value == 2 * bounds.high


def test_a_return_up_to_a_cut_off_may_be_nothing(problem):
    """Where every step pays and no episode ends, only a value beyond the cut-off has a lowest possible size."""
    endless = np.zeros(len(problem.dataset), bool)
    dataset = replace(problem.dataset, rewards=problem.dataset.rewards + 1, terminations=endless)
    paid = make_problem(dataset, CHAIN.policy(0.5), 0.9)
    assert concluded(paid, [0.1]).value == pytest.approx(0.1)
    with_q = concluded(paid, [0.1], q=object())
    assert with_q.value == with_q.bounds.low > 0.1
