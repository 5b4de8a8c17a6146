"""What the log earned from its states on."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ropeval.data import Dataset, Log
from ropeval.evaluation.earned import earned_by, returns_to_go
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-10, 10)), st.floats(0, 0.99))
def test_returns_to_go_obey_their_recursion(rewards, gamma):
    found = returns_to_go(rewards, gamma)
    assert found[-1] == pytest.approx(rewards[-1])
    assert found[:-1] == pytest.approx(rewards[:-1] + gamma * found[1:], abs=1e-9)


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-10, 10)), st.integers(1, 40))
def test_with_a_horizon_so_many_rewards_count(rewards, horizon):
    expected = [sum(0.9**k * r for k, r in enumerate(rewards[t : t + horizon])) for t in range(len(rewards))]
    assert returns_to_go(rewards, 0.9, horizon) == pytest.approx(np.array(expected), abs=1e-9)


def test_nine_tenths_of_the_returns_lie_within_the_scale_and_it_is_counted_once():
    data = Chain().log(100)
    log = Log(data, 0.9)
    earned = earned_by(log)
    every = np.concatenate([returns_to_go(data.rewards[a:b], 0.9) for a, b in zip(data.starts, data.starts[1:])])  # noqa: B905
    assert earned.scale == pytest.approx(np.quantile(every, 0.95) - np.quantile(every, 0.05), rel=1e-6)
    assert earned_by(log) is earned


def offset(data: Dataset, by: float) -> Dataset:
    return replace(data, rewards=(data.rewards + by).astype(np.float32))


def test_rewards_around_minus_a_thousand_are_not_a_thousand_apart():
    """All episodes are cut off: what every step costs is nothing that policies differ by. Returns up to the cuts do."""
    data = LinearQuadratic().log(60)
    plain, moved = (earned_by(Log(one, 0.9)) for one in (data, offset(data, -1000.0)))
    logged = np.concatenate([returns_to_go(data.rewards[a:b] - 1000.0, 0.9) for a, b in pairwise(data.starts)])
    assert np.quantile(logged, 0.95) - np.quantile(logged, 0.05) > 100 * plain.scale
    assert moved.scale <= 10 * plain.scale


def test_what_is_earned_after_a_cut_counts():
    """−1 at every step, cut off after 20: nobody has seen −10, but that is what it comes to."""
    data = tiny_log("continuous")
    data = replace(data, rewards=np.full(len(data), -1.0, np.float32))
    earned = earned_by(Log(data, 0.9))
    assert earned.least == pytest.approx(-10.0)
    within = earned_by(Log(data, 1.0, horizon=7))
    assert within.least == pytest.approx(-7.0)


def test_where_rewards_are_rare_their_size_is_no_yardstick():
    """One episode in a hundred earns 500, and it is not among those that are looked at one by one."""
    data = LinearQuadratic().log(2000, length=3)
    rewards = np.zeros(len(data), np.float32)
    rewards[2::300] = 500.0
    earned = earned_by(Log(replace(data, rewards=rewards), 1.0, horizon=3))
    assert earned.scale == pytest.approx(5.0)
    assert earned.least == 0.0
    assert earned.most == pytest.approx(500.0, rel=0.01)


@pytest.mark.parametrize("one_in", [6, 12, 18])
def test_few_that_are_far_from_most_do_not_stretch_it(one_in):
    """One visitor in so many buys for 1. What policies differ by is some of these, also where more than a few buy."""
    data = LinearQuadratic().log(360, length=1)
    bought = (np.arange(len(data)) % one_in == 0).astype(np.float32)
    assert earned_by(Log(replace(data, rewards=bought), 0.0)).scale == pytest.approx(min(1.0, 6.0 / one_in))
