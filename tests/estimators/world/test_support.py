"""How much of the number is the simulator's, and how much the log's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.estimators.world.rollouts import Rollouts
from ropeval.estimators.world.support import answer

GAMMA, STEPS, WALKERS = 0.9, 20, 4
GOOD = np.array([True, True])
DISCOUNT = GAMMA ** np.arange(STEPS + 1)


def rollouts(apart, rewards=(1.0, 3.0, 2.0), log_value=50.0, strayed=0.0) -> Rollouts:
    """Two members and both together, each with a reward of its own at every step; V_b is the same everywhere."""
    apart = np.broadcast_to(apart, (STEPS + 1, WALKERS))
    alike = np.ones((STEPS + 1, WALKERS))
    return Rollouts(
        DISCOUNT[:, None] * np.array(rewards), np.full(3, log_value), DISCOUNT[-1] * np.full(3, log_value), DISCOUNT,
        alike, rewards[-1] * alike, np.full(WALKERS, log_value), apart, strayed * alike,
        np.zeros((*alike.shape, 1)),
    )  # fmt: skip


def test_where_members_agree_the_number_is_the_simulators():
    """All rewards up to the horizon, and what the log earned from there on."""
    found = answer(rollouts(0.5), GOOD, doubt=5.0)
    tail = GAMMA**STEPS * 50.0
    assert found.simulated == pytest.approx(2.0 * DISCOUNT[:-1].sum() + tail)
    assert found.value == pytest.approx(found.simulated, rel=1e-6)
    np.testing.assert_allclose(found.members, np.array([1.0, 3.0]) * DISCOUNT[:-1].sum() + tail)
    assert found.spread == pytest.approx(np.std(found.members, ddof=1))
    assert found.support == pytest.approx(1.0)
    assert found.fallback == pytest.approx(0.0, abs=1e-6)


def test_where_they_guess_it_is_the_logs_own():
    found = answer(rollouts(100.0), GOOD, doubt=5.0)
    assert found.value == pytest.approx(found.log_value, rel=1e-6)
    assert found.log_value == 50.0
    assert found.support == 0.0
    assert found.fallback == pytest.approx(1.0)


def test_at_the_doubt_it_is_half_of_each():
    found = answer(rollouts(3.0), GOOD, doubt=3.0)
    assert found.fallback == pytest.approx(0.5)
    assert found.value == pytest.approx((found.simulated + found.log_value) / 2)
    assert found.apart == pytest.approx(3.0)


@given(apart=st.floats(0, 1e9), doubt=st.floats(0.1, 100), log_value=st.floats(-1e3, 1e3))
def test_the_number_lies_between_the_two(apart, doubt, log_value):
    found = answer(rollouts(apart, log_value=log_value), GOOD, doubt)
    low, high = sorted([found.simulated, found.log_value])
    assert low - 1e-6 <= found.value <= high + 1e-6
    assert found.fallback == pytest.approx(1 - 1 / (1 + (min(apart, 1e3) / doubt) ** 8), abs=1e-9)
    further = answer(rollouts(2 * apart, log_value=log_value), GOOD, doubt)
    assert further.fallback >= found.fallback


def test_how_long_states_were_outside_all_logged_ones():
    away = (np.arange(STEPS + 1) >= 5)[:, None]
    found = answer(rollouts(0.5, strayed=away), GOOD, doubt=5.0)
    assert found.strayed == pytest.approx(DISCOUNT[5:].sum() / DISCOUNT.sum())
    assert found.support == pytest.approx(1.0)
    assert found.value == answer(rollouts(0.5), GOOD, doubt=5.0).value


def test_time_is_discounted():
    """Members part after the fifth step: the log speaks about the discounted share of five steps."""
    parts = np.where(np.arange(STEPS + 1) < 5, 0.5, 2.5)[:, None]
    found = answer(rollouts(parts), GOOD, doubt=5.0)
    share = DISCOUNT[:5].sum() / DISCOUNT.sum()
    assert found.support == pytest.approx(share)
    assert found.apart == pytest.approx(0.5 * share + 2.5 * (1 - share))


def test_what_has_ended_does_not_count():
    """Half of the rollouts have ended before the members part: only those that go on tell how far."""
    apart = np.zeros((STEPS + 1, WALKERS))
    apart[1:, :2] = 9.0
    found = rollouts(apart)
    found.joint_running[1:, :2] = 0.0
    assert answer(found, GOOD, doubt=5.0).support == pytest.approx(1.0)


def test_a_broken_member_is_left_out():
    found = answer(rollouts(0.5), np.array([True, False]), doubt=5.0)
    assert np.isnan(found.members[1])
    assert np.isfinite(found.members[0])
    assert found.spread == 0.0
