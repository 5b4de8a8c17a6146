"""What a policy can be worth, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data.bounds import ANYTHING, Bounds, known_length, value_bounds
from ropeval.data.problem import Log
from tests.problems import Chain, LinearQuadratic


def rewarded(log, low, high):
    """The same log with rewards between these."""
    return replace(log, rewards=np.linspace(low, high, len(log), dtype=np.float32))


def test_rewards_for_ever():
    log = rewarded(LinearQuadratic().log(30), 1.0, 2.0)
    assert value_bounds(log, 0.9) == pytest.approx((10.0, 20.0))
    assert value_bounds(log, 0.9).reach == pytest.approx(20.0)


def test_who_ends_earns_nothing_more():
    ends = rewarded(Chain().log(30), 1.0, 2.0)
    assert value_bounds(ends, 0.9) == pytest.approx((0.0, 20.0))
    assert value_bounds(rewarded(ends, -2.0, -1.0), 0.9) == pytest.approx((-20.0, 0.0))
    assert Log(ends, 0.9, "paper").bounds == pytest.approx((10.0, 20.0))  # as its authors clip


def test_episodes_that_all_end_after_as_many_steps_are_a_horizon():
    cut = rewarded(LinearQuadratic().log(30, length=2), -1.0, 2.0)
    ended = replace(cut, terminations=cut.truncations, truncations=cut.terminations)
    assert known_length(ended) == 2
    assert Log(ended, 0.9).bounds == pytest.approx((-1.9, 3.8))
    assert known_length(cut) is None  # the value goes on
    assert known_length(Chain().log(30)) is None  # they differ
    few = LinearQuadratic().log(5, length=2)
    assert known_length(replace(few, terminations=few.truncations, truncations=few.terminations)) is None


def test_without_rewards_there_are_no_bounds():
    log = rewarded(Chain().log(30), 0.0, 0.0)
    assert value_bounds(log, 0.9) == ANYTHING
    assert not ANYTHING.outside(np.array([1e9, np.nan])).any()


def test_a_little_beyond_is_cut_and_far_beyond_is_outside():
    bounds = Bounds(0.0, 100.0)
    values = np.array([-3.0, -1.0, 50.0, 101.0, 171.2, np.nan])
    np.testing.assert_array_equal(bounds.outside(values), [True, False, False, False, True, False])
    np.testing.assert_array_equal(bounds.cut(values), [0.0, 0.0, 50.0, 100.0, 100.0, np.nan])
