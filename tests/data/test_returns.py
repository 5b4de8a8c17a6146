"""Returns of logged episodes, within a horizon and beyond cut-offs."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Dataset
from ropeval.data.returns import beyond_cut, continued_returns, discounted_steps, episode_returns, onwards
from tests.problems import Chain, LinearQuadratic


@pytest.fixture
def log():
    """Two episodes: three steps to an end, two to a cut-off."""
    return Dataset.from_columns(
        {
            "observations": np.arange(5.0)[:, None],
            "actions": np.zeros((5, 1)),
            "rewards": np.array([1.0, 2.0, 4.0, 8.0, 16.0]),
            "terminations": np.array([0, 0, 1, 0, 0]),
            "truncations": np.array([0, 0, 0, 0, 1]),
            "next_observations": np.arange(5.0)[:, None] + 1,
        }
    )


def test_sums_of_discounts():
    assert discounted_steps(0.5, 3) == 1.75
    assert discounted_steps(0.5, np.inf) == 2.0
    assert discounted_steps(1.0, 3) == 3.0
    np.testing.assert_allclose(discounted_steps(0.5, np.array([0, 1])), [0.0, 1.0])


def test_only_the_first_steps_count(log):
    np.testing.assert_allclose(episode_returns(log, 0.5), [3.0, 16.0])
    np.testing.assert_allclose(episode_returns(log, 1.0, 2), [3.0, 24.0])


def test_what_a_cut_off_took_away(log):
    np.testing.assert_allclose(beyond_cut(log, 0.5), [0.0, 0.5])  # 2 − 1.5
    np.testing.assert_allclose(beyond_cut(log, 1.0, 5), [0.0, 3.0])
    np.testing.assert_allclose(beyond_cut(log, 1.0, 2), 0.0)


def test_after_a_cut_off_it_goes_on_as_at_later_steps(log):
    """Those after the first: of 2, 4 and 16 the mean, and one of the three ends its episode."""
    assert onwards(log, 0.5) == pytest.approx((22 / 3, 0.5 * 2 / 3))
    assert onwards(log, 0.5).worth(np.inf) == pytest.approx(22 / 3 / (1 - 1 / 3))
    np.testing.assert_allclose(continued_returns(log, 1.0, 4), [7.0, 24.0 + 22 / 3 * (1 + 2 / 3)], rtol=1e-6)
    np.testing.assert_allclose(continued_returns(log, 0.5), [3.0, 16.0 + 0.25 * 11.0], rtol=1e-6)
    np.testing.assert_allclose(continued_returns(log, 1.0, 2), [3.0, 24.0])


@pytest.mark.parametrize("length", [8, 16, 40])
def test_what_the_log_is_worth_does_not_depend_on_when_it_was_cut_off(length):
    """The way from the first states to where one stays costs more than to stay; leaving the chain ends it all."""
    task, chain = LinearQuadratic(), Chain()
    cut = task.log(500, length=length)
    worth = task.value_at(cut.initial_observations, 0.6)
    assert continued_returns(cut, task.gamma).mean() == pytest.approx(worth, rel=0.12)  # the mean reward: 0.31
    cut, worth = chain.log(2000, length=length, right=0.6), chain.values(0.6)[1]
    assert continued_returns(cut, chain.gamma).mean() == pytest.approx(worth, abs=0.06)  # the mean reward: 0.12


def test_where_nothing_was_cut_off_nothing_goes_on(log):
    whole = replace(log, terminations=log.terminations | log.truncations, truncations=np.zeros(5, bool))
    np.testing.assert_allclose(continued_returns(whole, 0.5), episode_returns(whole, 0.5))
