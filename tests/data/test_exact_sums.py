"""Expectations over a policy of few discrete actions are sums over its probabilities, not means of draws."""

import numpy as np
import pytest

import ropeval
from ropeval.data import make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy
from tests.problems import Chain

CHAIN = Chain()


@pytest.fixture(scope="module")
def log():
    return CHAIN.log(200)


def biased(chances, name="biased"):
    """Takes action i with probability chances[i], in every state."""
    return CallablePolicy(
        lambda o, rng: rng.choice(len(chances), size=len(o), p=np.asarray(chances) / np.sum(chances)),
        deterministic=False,
        name=name,
        log_prob=lambda o, a: np.log(np.asarray(chances)[a]),
    )


def test_sums_where_probabilities_are_told_and_draws_where_they_are_wanted(log):
    told = make_problem(log, biased([0.3, 0.7]), 0.9).transitions
    assert (told.draws, told.rows.next_weight.shape, told.initial_weight.shape) == (2, (len(log), 2), (200, 2))
    silent = CallablePolicy(lambda o, rng: rng.integers(2, size=len(o)), deterministic=False)
    for policy, draws in ((biased([0.3, 0.7]), 3), (silent, None)):
        drawn = make_problem(log, policy, 0.9, draws=draws).transitions
        assert (drawn.draws, drawn.rows.next_weight, drawn.initial_weight) == (draws or 8, None, None)
    assert make_problem(log, CHAIN.policy(1.0), 0.9).transitions.draws == 1
    first = told.first_draw()
    assert (first.draws, first.rows.next_weight) == (1, None)


def test_nothing_is_left_to_the_luck_of_the_draw(log):
    """LSPE draws nothing else: with all actions at hand, seeds agree, and with draws they do not."""

    def values(**given):
        asked = {"gamma": 0.9, "resample": False, "members": 1}
        return [ropeval.evaluate(log, biased([0.3, 0.7]), "lspe", seed=seed, **asked, **given).value for seed in (0, 1)]

    one, other = values()
    assert one == pytest.approx(other, rel=1e-5)
    drawn = values(draws=1)
    assert abs(drawn[0] - drawn[1]) > 1e-4 * abs(one)


@pytest.mark.training
def test_fqe_sums_too():
    chain = Chain(size=3, gamma=0.8)
    settings = {"fqe": {"steps": 3000, "width": 32, "depth": 1, "batch": 256}}
    found = ropeval.evaluate(
        chain.log(1000), biased([0.3, 0.7]), "fqe", gamma=0.8, members=1, resample=False, settings=settings
    )
    assert found.value == pytest.approx(chain.values(0.7)[1], abs=0.03)


def test_probabilities_that_do_not_sum_to_one_are_refused(log):
    with pytest.raises(UserError, match=r"policy half: its probabilities of the 2 actions sum to 0\.5 at observation"):
        _ = make_problem(log, biased([0.1, 0.4], "half"), 0.9).transitions
