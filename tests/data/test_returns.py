"""Returns of logged episodes, within a horizon and beyond cut-offs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ropeval import blocks
from ropeval.data import Dataset, Log
from ropeval.data.returns import beyond_cut, discounted_steps, episode_returns, onwards
from tests.problems import Chain, LinearQuadratic


def continued_returns(data, gamma, horizon=None):
    return Log(data, gamma, horizon=horizon).continued_returns


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


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("horizon", [None, 2])
def test_blocks_that_cut_episodes_apart_give_the_same_sums(size, horizon, monkeypatch):
    """Beside sums by hand; some episodes have no step that is left."""
    rng = np.random.default_rng(size)
    lengths = np.array([3, 0, 1, 8, 0, 0, 2, 5])
    starts, rewards = np.append(0, np.cumsum(lengths)), rng.normal(size=lengths.sum()).astype(np.float32)
    data = replace(
        _log_of(starts[-1]), starts=starts, rewards=rewards, initial_observations=np.zeros((8, 1), np.float32)
    )
    monkeypatch.setattr(blocks, "BLOCK", size)
    by_hand = [
        sum(0.9**t * float(r) for t, r in enumerate(rewards[start:end][:horizon])) for start, end in pairwise(starts)
    ]
    np.testing.assert_allclose(episode_returns(data, 0.9, horizon), by_hand, rtol=1e-12, atol=1e-12)
    half = int(lengths[lengths > 0].mean()) // 2
    late = np.concatenate([rewards[start:end][half:] for start, end in pairwise(starts)])
    assert onwards(data, 0.9).reward == pytest.approx(late.mean(), rel=1e-5)


def _log_of(rows):
    """Nothing ends by itself."""
    return Dataset.from_columns(
        {
            "observations": np.arange(float(rows))[:, None],
            "actions": np.zeros((rows, 1)),
            "rewards": np.zeros(rows),
            "terminations": np.zeros(rows, bool),
            "truncations": np.arange(rows) == rows - 1,
            "next_observations": np.arange(float(rows))[:, None] + 1,
        }
    )
