"""Which kind every column is; and that what is simulated could have been logged."""

from itertools import accumulate

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.estimators.world.network import Prediction
from ropeval.estimators.world.noise import silent
from ropeval.estimators.world.rollouts import next_state
from ropeval.estimators.world.units import find_choices, make_units
from tests.estimators.world.logs import log_of
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log

ROWS = 2000
RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal(ROWS)
FLAG = RNG.integers(2, size=ROWS)
STAGE = RNG.integers(3, size=ROWS) * 0.5
COUNT = RNG.integers(-40, 85, size=ROWS)  # a hundred whole numbers and more
CONSTANT = np.full(ROWS, 7.25)
WALK = np.array(list(accumulate(RNG.integers(-2, 3, size=ROWS), lambda place, by: min(max(place + by, 0), 50))))


def columns(*given_) -> np.ndarray:
    return np.stack(given_, axis=1).astype(np.float32)


def test_a_one_hot_code_is_one_choice():
    units = make_units(Chain().log(50))
    assert units.chosen == ((0, 1, 2, 3, 4),)
    np.testing.assert_array_equal(units.values[0], np.eye(5)[::-1])
    assert units.moving == ()


def test_columns_of_few_values_are_one_choice_where_few_combinations_are_seen():
    units = make_units(log_of(columns(NORMAL, FLAG, STAGE)))
    assert units.chosen == ((1, 2),)
    assert units.values[0].shape == (6, 2)
    assert units.moving == (0,)


def test_many_combinations_are_a_choice_for_each_column():
    grid = RNG.integers(20, size=(2, ROWS))  # 400 combinations
    units = make_units(log_of(columns(grid[0], NORMAL, grid[1])))
    assert units.chosen == ((0,), (2,))
    assert [values.shape for values in units.values] == [(20, 1), (20, 1)]
    assert units.moving == (1,)


def test_a_clock_is_a_choice_among_changes():
    """An hour that goes round changes in few ways, a place on a board in five; a flag changes in more ways than it has
    values."""
    units = make_units(log_of(columns(np.arange(ROWS) % 24, WALK, NORMAL, FLAG)))
    assert units.chosen == ((0,), (1,), (3,))
    assert units.relative == (True, True, False)
    np.testing.assert_array_equal(units.outcomes[0], [[-23], [0], [1]])  # where the log was cut off it stands still
    np.testing.assert_array_equal(units.outcomes[1][:, 0], np.arange(-2, 3))
    state = jnp.array([22.0, 50.0, 0.0, 1.0])
    np.testing.assert_array_equal(units.taken(0, state, jnp.int32(2)), [23.0])
    np.testing.assert_array_equal(units.taken(1, state, jnp.int32(4)), [50.0])  # no place is beyond
    np.testing.assert_array_equal(units.taken(2, state, jnp.int32(0)), [0.0])


def test_continuous_columns_move():
    units = make_units(tiny_log("continuous"))
    assert units.moving == (0, 1)
    assert units.whole == (False, False)
    assert units.chosen == units.values == ()


def test_whole_numbers_are_recognised():
    units = make_units(log_of(columns(NORMAL, COUNT)))
    assert units.moving == (0, 1)
    assert units.whole == (False, True)


def test_three_rows_say_nothing():
    """A value counts as one of few only where it was seen often."""
    assert find_choices(np.eye(3, dtype=np.float32)) == []


def test_a_value_that_comes_late_in_the_log_is_seen():
    """The first thousand rows alone hold one value."""
    late = np.where(np.arange(ROWS) < 1500, 1.0, NORMAL)
    assert make_units(log_of(columns(late))).moving == (0,)


def test_a_long_log_is_not_known_by_the_first_steps_of_its_episodes_alone(monkeypatch):
    """Of episodes of ten steps one row in ten is looked at; all of them begin in the same state."""
    monkeypatch.setattr("ropeval.estimators.world.units.LOOKED_AT", ROWS // 10)
    units = make_units(log_of(columns(np.where(np.arange(ROWS) % 10 == 0, 1.0, NORMAL))))
    assert units.moving == (0,)
    assert units.state_std == pytest.approx(NORMAL.std(), rel=0.2)


def test_ranges():
    """A tenth of the logged range on either side, where a column moves; whole ones where it is whole."""
    units = make_units(log_of(columns(NORMAL, COUNT, STAGE, CONSTANT)))
    low, high = np.float32(NORMAL.min()), np.float32(NORMAL.max())
    np.testing.assert_allclose(units.state_low, [low - 0.1 * (high - low), -40 - 12, 0, 7.25], rtol=1e-5)
    np.testing.assert_allclose(units.state_high, [high + 0.1 * (high - low), 84 + 12, 1, 7.25], rtol=1e-5)
    assert (units.reward_low, units.reward_high) == (0, ROWS - 1)


def test_a_state_is_outside_all_logged_ones_where_a_column_is():
    units = make_units(log_of(columns(NORMAL, COUNT, STAGE, CONSTANT)))
    low, high, percent = NORMAL.min(), NORMAL.max(), 0.01 * np.ptp(NORMAL)
    inside = [
        [low, 0, 0, 7.25],
        [high, -40, 1, 7.25],
        [low - percent / 2, 85, 0, 7.25],
        [high + percent / 2, 0, 1, 7.25],
    ]
    outside = [
        [low - 2 * percent, 0, 0, 7.25],
        [high + 2 * percent, 0, 0, 7.25],
        [low, 87, 0, 7.25],
        [low, -43, 0, 7.25],
    ]
    said = [bool(units.strayed(np.array(state, np.float32))) for state in inside + outside]
    assert said == [False] * 4 + [True] * 4


def test_where_an_episode_ends_counts_for_the_range_but_not_for_the_values():
    """The last state of a terminated episode is never simulated, so it is no value to choose."""
    states = columns(FLAG)
    following = states.copy()
    following[-1] = 5.0
    units = make_units(log_of(states, following, ends=np.arange(ROWS) == ROWS - 1, cuts=np.zeros(ROWS, bool)))
    np.testing.assert_array_equal(units.values[0], [[0], [1]])
    assert units.state_high[0] == 5.0
    assert units.ends == 1


@pytest.mark.parametrize(("log", "ends"), [(Chain().log(50), 1.0), (LinearQuadratic().log(5), 0.0)])
def test_what_never_ends_in_the_log_never_ends(log, ends):
    assert make_units(log).ends == ends


def test_the_network_sees_standardised_pairs():
    log = tiny_log("continuous")
    units = make_units(log)
    pairs = np.asarray(jax.vmap(units.pair)(log.observations, log.actions))
    assert pairs.shape == (len(log), 3)
    np.testing.assert_allclose(pairs.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(pairs.std(axis=0), 1, atol=1e-3)


MIXED = {
    "choices among changes": columns(WALK, np.arange(ROWS) % 24, NORMAL),
    "continuous": columns(NORMAL, COUNT),
    "all kinds": columns(NORMAL, COUNT, FLAG, CONSTANT, STAGE),
    "chosen one by one": columns(FLAG, *RNG.integers(20, size=(2, ROWS)), CONSTANT),
    "too short for choices": columns(NORMAL, COUNT, FLAG, CONSTANT)[:15],
}


UNITS = {kind: jax.tree.map(jnp.asarray, make_units(log_of(states))) for kind, states in MIXED.items()}
TOGETHER, STEPS = 64, 3


@jax.jit
def following(units, noise, keys, states, found):
    pairs = jnp.zeros((len(states), states.shape[1] + 1))
    return jax.vmap(next_state, in_axes=(None, None, 0, 0, 0, 0))(units, noise, keys, states, pairs, found)


@pytest.mark.parametrize("kind", MIXED)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**31 - 1), size=st.floats(0.01, 1e6))
def test_simulated_states_are_always_valid(kind, seed, size):
    """Whatever the networks say: whole stays whole, a value is one of the logged, nothing is far or not a number."""
    logged, units = MIXED[kind], UNITS[kind]
    rng = np.random.default_rng(seed)
    moving = len(units.moving)
    noise = jax.tree.map(jnp.asarray, silent(1, moving).of(0))
    noise = noise._replace(residuals=jnp.asarray(size * rng.standard_normal((1, moving)), jnp.float32))
    states = jnp.asarray(logged[rng.integers(len(logged), size=TOGETHER)])
    for step in range(STEPS):
        found = Prediction(
            jnp.asarray(size * rng.standard_normal((TOGETHER, moving)), jnp.float32),
            tuple(jnp.asarray(rng.dirichlet(np.ones(len(v)), TOGETHER), jnp.float32) for v in units.outcomes),
            jnp.zeros(TOGETHER),
            jnp.zeros(TOGETHER),
        )
        keys = jax.random.split(jax.random.key(step), TOGETHER)
        states = following(units, noise, keys, states, found)
        check_valid(np.asarray(states), units, logged)


def check_valid(states, units, logged):
    low, high = logged.min(axis=0), logged.max(axis=0)
    margin = 0.1 * (high - low) + 1e-5
    assert ((states >= low - margin) & (states <= high + margin)).all()
    whole = states[:, [c for c, is_ in zip(units.moving, units.whole, strict=True) if is_]]
    assert (whole == np.round(whole)).all()
    for chosen, values in zip(units.chosen, units.values, strict=True):
        same = states[:, None, list(chosen)] == np.asarray(values)[None]
        assert same.all(axis=2).any(axis=1).all()
    constant = low == high
    assert (states[:, constant] == low[constant]).all()
