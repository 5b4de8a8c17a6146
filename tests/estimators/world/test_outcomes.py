"""What an episode may earn, from rollouts that do not end but weigh less: against answers in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.estimators.return_distribution import distribution
from ropeval.estimators.world.log_paths import LogPaths
from ropeval.estimators.world.outcomes import (
    by_start,
    expected_returns,
    explained,
    outcomes,
    possible_returns,
    quantiles,
)
from ropeval.estimators.world.reward_noise import make_reward_noise
from ropeval.estimators.world.rollouts import Rollouts
from ropeval.estimators.world.support import answer

GAMMA, STEPS = 0.9, 60
DISCOUNT = GAMMA ** np.arange(STEPS + 1)


def lived(rewards, hazards, log_value=0.0) -> Rollouts:
    """Rollouts [R] that earn rewards [R] at every step and end with hazards [R]; V_b is the same everywhere."""
    rewards, hazards = np.atleast_1d(rewards), np.atleast_1d(hazards)
    running = (1.0 - hazards)[None] ** np.arange(STEPS + 1)[:, None]  # [T, R]
    reward, of_log = np.broadcast_to(rewards, running.shape), np.full(len(rewards), log_value)
    columns = np.arange(STEPS + 1.0)[:, None, None] + np.arange(len(rewards))[None, :, None]  # [T, R, 1]
    weight = DISCOUNT[:, None] * running
    earns, last = (weight * reward).mean(axis=1, keepdims=True), (weight[-1:] * of_log).mean(axis=1)
    first = np.array([log_value])
    nowhere = np.zeros_like(running)
    return Rollouts(earns, first, last, DISCOUNT, running, reward, of_log, nowhere, nowhere, columns)


def test_an_end_at_any_time_has_its_own_return_and_probability():
    """A reward of 1 per step and an end with probability 0.2: after k steps Σ_{u<k} γ^u, geometrically distributed."""
    returns, chances = possible_returns(lived(1.0, 0.2))
    steps = np.arange(1, STEPS + 1)
    np.testing.assert_allclose(returns[:-1], (1 - GAMMA**steps) / (1 - GAMMA))
    np.testing.assert_allclose(chances[:-1], 0.2 * 0.8 ** (steps - 1))
    assert chances.sum() == pytest.approx(1.0)
    found = distribution(returns, chances, level=0.2, below=1.5)
    assert found["cvar"] == pytest.approx(1.0)  # the fifth that ends at once
    assert found["below"]["probability"] == pytest.approx(0.2)
    assert found["quantiles"]["0.5"] == pytest.approx(1 + GAMMA + GAMMA**2 + GAMMA**3)  # 1 − 0.8⁴ is more than a half
    assert found["mean"] == pytest.approx(1 / (1 - GAMMA * 0.8), rel=1e-4)


@given(
    rewards=st.lists(st.floats(-10, 10), min_size=1, max_size=4),
    hazard=st.floats(0, 1),
    log_value=st.floats(-50, 50),
)
def test_their_mean_is_the_simulators_value(rewards, hazard, log_value):
    found = lived(rewards, np.full(len(rewards), hazard), log_value)
    value = float(found.reward[:-1].sum() + found.last_value[0])
    returns, chances = possible_returns(found)
    assert returns @ chances == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert expected_returns(found).mean() == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert chances.sum() == pytest.approx(1.0)


def test_where_nothing_ends_every_rollout_is_one_return():
    returns, chances = possible_returns(lived([1.0, 2.0, 4.0], np.zeros(3), log_value=10.0))
    np.testing.assert_allclose(returns, np.array([1.0, 2.0, 4.0]) * DISCOUNT[:-1].sum() + 10.0 * DISCOUNT[-1])
    np.testing.assert_allclose(chances, 1 / 3)


def test_quantiles_by_weight():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 8.0])
    np.testing.assert_array_equal(quantiles(values, weights, np.array([0.05, 0.1, 0.11, 0.9, 0.95])), [1, 1, 2, 2, 3])


def test_the_value_by_initial_state():
    """States that come twice are told once; the second column decides, though not in proportion."""
    states = np.stack([np.tile([0.0, 1.0], 20), np.repeat(np.linspace(-1, 1, 20), 2)], axis=1)
    values = states[:, 1] ** 2
    found = by_start(np.concatenate([values - 1, values + 1]), np.concatenate([states, states]), ["sex", "age"])
    assert found["column"] == "age"
    assert found["states"] == 40
    assert found["rollouts"] == 2.0
    np.testing.assert_allclose(found["values"], np.array(found["at"]) ** 2, atol=1e-4)
    assert found["at"] == sorted(found["at"])


def test_a_constant_column_explains_nothing():
    assert explained(np.zeros(10), np.arange(10.0)) == 0.0
    assert explained(np.arange(10.0), np.zeros(10)) == 0.0
    assert explained(np.arange(10.0) % 2, np.arange(10.0) % 2) == pytest.approx(1.0)


def test_what_is_kept_is_plain_and_short():
    steps = np.array([0, 30, STEPS])
    log = LogPaths(("x",), steps, np.full((3, 1, 3), np.nan), np.array([1.0, 0.5, np.nan]))
    found = told(lived([1.0, 2.0], np.array([0.0, 1.0])), log)
    assert found["survival"] == {"steps": [0, 30, STEPS], "share": [1.0, 0.5, 0.5], "log": [1.0, 0.5, None]}
    (column,) = found["paths"]["columns"]
    assert column["mean"] == [0.5, 30.0, 60.0]  # the second rollout has ended, and counts no more
    assert column["high"] == [1.0, 30.0, 60.0]
    assert column["log_mean"] == [None] * 3
    assert found["returns"]["values"][0] == pytest.approx(2.0)  # ends at once
    assert told(lived(1.0, 0.0), log._replace(survival=None))["survival"] is None


def told(found, log):
    first = np.zeros((found.joint_running.shape[1], 1), np.float32)
    return outcomes(found, possible_returns(found), first, ["x"], log)


def test_rewards_that_scatter_are_drawn_by_how_the_episode_ends():
    """The network says 0.2 · 0.25 throughout. Going on earns 0, and the end 1 or −1 at odds of 5 to 3."""
    predicted, logged = np.full(1000, 0.05), np.zeros(1000)
    ends = np.arange(1000) % 5 == 0
    logged[ends] = np.tile([1, 1, 1, 1, 1, -1, -1, -1], 25)
    noise = make_reward_noise(predicted, logged, ~ends)
    returns, chances = possible_returns(lived(np.full(200, 0.05), np.full(200, 0.2)), noise)
    np.testing.assert_allclose(np.abs(returns[:200]), 1.0)  # those that end at once
    assert chances[returns < 0].sum() == pytest.approx(3 / 8, abs=0.02)
    assert returns @ chances == pytest.approx(0.05 / (1 - GAMMA * 0.8), abs=0.03)


def test_within_a_horizon_nothing_counts_beyond():
    found = lived([1.0], np.array([0.0]), log_value=10.0).within(3)
    returns, chances = possible_returns(found)
    assert returns == pytest.approx([1 + GAMMA + GAMMA**2])
    assert chances == pytest.approx([1.0])
    said = answer(found, np.zeros(0, bool), doubt=5.0, horizon=3)
    assert said.simulated == pytest.approx(1 + GAMMA + GAMMA**2)
    assert said.log_value == pytest.approx(10.0)
