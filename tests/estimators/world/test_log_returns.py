"""What the log itself earned, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.data import Log
from ropeval.data.returns import onwards
from ropeval.estimators.world.log_returns import MISSED, UNFINISHED, log_returns
from ropeval.estimators.world.rows import world_rows
from ropeval.estimators.world.units import make_units
from tests.estimators.world.logs import log_of, simulator_of
from tests.problems import Chain, LinearQuadratic


@given(
    ends=st.lists(st.sampled_from(["goes on", "terminates", "cut off"]), min_size=1, max_size=40),
    gamma=st.sampled_from([0.0, 0.5, 0.9]),
)
def test_log_returns_by_brute_force(ends, gamma):
    """Every row on its own: rewards to the end of the episode, then what goes on if it was cut off."""
    ends[-1] = "cut off" if ends[-1] == "goes on" else ends[-1]
    terminates, cut = (np.array([end == kind for end in ends]) for kind in ("terminates", "cut off"))
    rewards = np.random.default_rng(len(ends)).standard_normal(len(ends)).astype(np.float32)
    states = np.zeros((len(ends), 1))
    log = log_of(states, states, rewards=rewards, ends=terminates, cuts=cut)
    returns, beyond, further = [], [], onwards(log, gamma).worth(np.inf)
    for row in range(len(ends)):
        last = row + next(k for k, end in enumerate(ends[row:]) if end != "goes on")
        steps = np.arange(last + 1 - row)
        left = gamma ** len(steps) * cut[last]
        returns.append((gamma**steps * rewards[row : last + 1]).sum() + left * further)
        beyond.append(left)
    found = log_returns(log, gamma)
    np.testing.assert_allclose(found.returns, returns, rtol=1e-5, atol=1e-5)
    known = np.array(beyond) <= UNFINISHED
    enough = known[log.starts[:-1]].mean() >= 1.0 - MISSED
    np.testing.assert_array_equal(found.known, known if enough else True)  # all of them where there are few


@pytest.mark.parametrize("horizon", [None, 3, 12, 40])
def test_from_the_first_steps_on_they_are_what_the_episodes_are_worth(horizon):
    """Cut off after ten steps, or ended before."""
    log = Chain().log(50, length=10)
    found = log_returns(log, 0.9, horizon).returns[log.starts[:-1]]
    np.testing.assert_allclose(found, Log(log, 0.9, horizon=horizon).continued_returns, rtol=1e-6, atol=1e-6)


def test_those_who_end_do_not_speak_for_those_who_were_cut_off():
    """One in three falls ill and ends with −1 after five steps; the others are cut off there, and nothing happened."""
    ill = np.repeat(np.arange(60) % 3 == 0, 5)
    last = np.tile(np.arange(5) == 4, 60)
    states = ill[:, None].astype(np.float32)
    log = log_of(states, states, rewards=np.where(last & ill, -1.0, 0.0), ends=last & ill, cuts=last & ~ill)
    found = log_returns(log, 0.9)
    assert found.known.all()
    assert found.returns[ill].mean() < found.returns[~ill].mean()


@pytest.mark.training
def test_returns_that_are_not_known_weigh_nothing():
    log = LinearQuadratic().log(5, length=60)
    found = log_returns(log, 0.9)
    far = np.arange(60) < 60 - np.log(UNFINISHED) / np.log(0.9)
    np.testing.assert_array_equal(found.known, np.tile(far, 5))
    world = simulator_of(log)
    assert float(world.simulator.value_low) == pytest.approx(found.returns[found.known].min())
    assert float(world.simulator.value_high) == pytest.approx(found.returns[found.known].max())


def test_what_v_b_learns_is_made_in_blocks_to_the_same_bits(monkeypatch):
    log = LinearQuadratic().log(5, length=60)
    data, found = world_rows(log, make_units(log)), log_returns(log, 0.9)
    seen = found.returns[found.known]
    whole = ((found.returns - float(np.float32(seen.mean()))) / float(np.float32(seen.std()))).astype(np.float32)
    monkeypatch.setattr("ropeval.blocks.BLOCK", 7)
    rows = found.rows(data).rows
    np.testing.assert_array_equal(rows.reward, whole)
    np.testing.assert_array_equal(rows.discount, found.known)
