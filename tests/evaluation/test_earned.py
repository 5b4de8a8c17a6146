"""What the log earned from its states on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ropeval.data import Log
from ropeval.evaluation.earned import earned_by, returns_to_go
from tests.problems import Chain


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
