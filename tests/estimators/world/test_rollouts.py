"""Life in a simulator: on the host as in the program, members apart, and an end as a weight."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from ropeval.estimators.world.noise import silent
from ropeval.estimators.world.outcomes import expected_returns
from ropeval.estimators.world.rollouts import BLOCK, CHUNK, GONE, Simulator, log_values, roll_out, values_in_blocks
from ropeval.estimators.world.units import make_units
from ropeval.policies import CallablePolicy, load_policy
from tests.estimators.world.logs import log_of, simulator_of
from tests.policies.samples import arrays, save
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log

MEMBERS, WALKERS, STEPS = 2, 16, CHUNK - 1  # one chunk, to its last step
SPACE = tiny_log("continuous").space
KEYS = jax.random.split(jax.random.key(5), MEMBERS + 1)


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return simulator_of(tiny_log("continuous")).simulator


@pytest.fixture(scope="module")
def initial():
    states = tiny_log("continuous").initial_observations[:WALKERS]
    return np.stack([states] * (MEMBERS + 1))


def check_alike(found, other):
    for name, values in vars(found).items():
        np.testing.assert_allclose(values, getattr(other, name), rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.training
def test_a_compiled_policy_and_the_host_loop_agree(simulator, initial, tmp_path):
    policy = load_policy(f"{save(tmp_path, arrays(inputs=2, actions=1))}@mean").fitted(SPACE)
    assert policy.compiled() is not None
    on_host = CallablePolicy(lambda o: policy.sample(o, np.random.default_rng(0)), deterministic=True).fitted(SPACE)
    assert on_host.compiled() is None
    found, other = (roll_out(simulator, p, initial, 0.9, STEPS, KEYS) for p in (policy, on_host))
    assert found.reward.shape == (CHUNK, MEMBERS + 1)
    assert found.apart.shape == found.joint_weight.shape == (CHUNK, WALKERS)
    check_alike(found, other)


@pytest.mark.training
@pytest.mark.parametrize("count", [3, BLOCK, 2 * BLOCK + 5])
def test_values_of_any_number_of_states(simulator, initial, count):
    states = np.resize(initial, (MEMBERS + 1, count, initial.shape[-1]))
    np.testing.assert_allclose(values_in_blocks(simulator, states), log_values(simulator, states), rtol=1e-5, atol=1e-5)


@pytest.mark.training
def test_members_do_not_depend_on_each_other(simulator, initial):
    """The first member on its own, with its own keys: its rollouts are the same, whoever else is there."""
    first = np.array([0, MEMBERS])
    alone = simulator._replace(
        nets=jax.tree.map(lambda a: a[:1], simulator.nets),
        values=jax.tree.map(lambda a: a[:1], simulator.values),
        weights=jnp.ones(1),
        noise=simulator.noise.of(first),
    )
    policy = LinearQuadratic().policy(0.5).fitted(SPACE)
    all_ = roll_out(simulator, policy, initial, 0.9, 10, KEYS)
    one = roll_out(alone, policy, initial[first], 0.9, 10, KEYS[first])
    np.testing.assert_allclose(one.reward[:, 0], all_.reward[:, 0], rtol=1e-4)
    np.testing.assert_allclose(one.first_value[0], all_.first_value[0], rtol=1e-4)
    np.testing.assert_allclose(one.last_value[0], all_.last_value[0], rtol=1e-4)
    assert np.median(one.apart) == 0  # nobody to disagree with; a drawn action may lie outside the logged ones
    assert (all_.apart > 0).all()


@pytest.mark.training
def test_the_same_keys_give_the_same_bits(simulator, initial):
    policy = LinearQuadratic().policy(0.5).fitted(SPACE)
    found, again = (roll_out(simulator, policy, initial, 0.9, 10, KEYS) for _ in range(2))
    for name, values in vars(found).items():
        np.testing.assert_array_equal(values, getattr(again, name))


class Constant(NamedTuple):
    """A network that says the same of everything."""

    outputs: Array

    def __call__(self, x: Array) -> Array:
        return jnp.broadcast_to(self.outputs, (*x.shape[:-1], self.outputs.shape[-1]))


STILL = np.zeros((MEMBERS + 1, 4, 1), np.float32)
LOG = log_of(
    np.random.default_rng(0).standard_normal((100, 1)), rewards=np.linspace(0, 2, 100),
    ends=np.arange(100) % 10 == 9, cuts=np.zeros(100, bool),
)  # fmt: skip
IDLE = CallablePolicy(lambda o: np.zeros((len(o), 1)), deterministic=True).fitted(LOG.space)


def constant_simulator(rewards, hazards) -> Simulator:
    """Two members that stay where they are, earn these and end with these probabilities; V_b is 3."""
    units = jax.tree.map(jnp.asarray, make_units(LOG))
    scaled = (np.array(rewards, np.float32) - units.reward_mean) / units.reward_std
    stays = -units.change_mean / units.change_std
    nothing = jax.tree.map(jnp.asarray, silent(3, 1))
    outputs = jnp.stack([jnp.array([stays[0], r, np.log(p / (1 - p))]) for r, p in zip(scaled, hazards, strict=True)])
    return Simulator(
        Constant(outputs), Constant(jnp.zeros((2, 1))), jnp.full(2, 0.5), units, jnp.ones(3), nothing,
        jnp.float32(3), jnp.float32(1), jnp.float32(-9), jnp.float32(9), jnp.array([0]),
    )  # fmt: skip


def test_an_end_is_a_weight():
    """One reward per step until the end comes with probability p: 1/(1 − γ(1 − p)), by members and jointly."""
    hazards = np.array([0.1, 0.3])
    simulator = constant_simulator([1.0, 1.0], hazards)
    found = roll_out(simulator, IDLE, STILL, 0.9, 100, KEYS)
    expected = [1 / (1 - 0.9 * (1 - p)) for p in (*hazards, hazards.mean())]
    np.testing.assert_allclose(found.reward.sum(axis=0), expected, rtol=1e-4)
    np.testing.assert_allclose(found.joint_weight[:, 0], (0.9 * 0.8) ** np.arange(101), rtol=1e-3, atol=GONE)
    np.testing.assert_allclose(found.first_value, 3, rtol=1e-6)
    np.testing.assert_allclose(found.last_value, 0)  # nobody is left


def test_whoever_is_left_at_the_end_is_worth_what_the_log_says():
    found = roll_out(constant_simulator([1.0, 1.0], [0.1, 0.3]), IDLE, STILL, 0.9, 4, KEYS)
    np.testing.assert_allclose(found.last_value, 3 * (0.9 * np.array([0.9, 0.7, 0.8])) ** 4, rtol=1e-4)
    np.testing.assert_allclose(found.joint_last, 3, rtol=1e-6)


@pytest.mark.parametrize("hazard", [1e-9, 0.01])
def test_beyond_the_last_step_the_policy_goes_on_as_it_did(hazard):
    """1 per step, and γ looks further than 40 steps: 1/(1 − γ(1 − p)). V_b, which is 3, plays no part."""
    found = roll_out(constant_simulator([1.0, 1.0], [hazard, hazard]), IDLE, STILL, 0.99, 40, KEYS).lasting()
    expected = 1 / (1 - 0.99 * (1 - hazard))
    np.testing.assert_allclose(found.reward[:-1].sum(axis=0) + found.last_value, expected, rtol=1e-3)
    np.testing.assert_allclose(expected_returns(found), expected, rtol=1e-3)


def test_nobody_is_asked_once_all_is_over():
    """Nineteen of twenty end at every step: after four steps next to nothing is left, and no state is asked about."""
    asked: list[int] = []

    def counted(states):
        asked.append(len(states))
        return np.zeros((len(states), 1))

    policy = CallablePolicy(counted, deterministic=True)
    found = roll_out(constant_simulator([1.0, 1.0], [0.95, 0.95]), policy.fitted(LOG.space), STILL, 1.0, 50, KEYS)
    assert len(asked) < 8 * (MEMBERS + 1)
    assert found.joint_running.shape == (51, 4)
    np.testing.assert_allclose(found.reward.sum(axis=0), 1 / 0.95, rtol=1e-3)
    assert (found.joint_running[10:] == 0).all()


def test_joint_rewards_are_the_members_mean_and_stay_in_the_logged_range():
    found = roll_out(constant_simulator([1.0, 5.0], [0.5, 0.5]), IDLE, STILL, 0.9, 1, KEYS)
    np.testing.assert_allclose(found.reward[0], [1.0, 2.0, 2.0], rtol=1e-4)  # the log's largest is 2
    found = roll_out(constant_simulator([0.0, 1.0], [0.5, 0.5]), IDLE, STILL, 0.9, 1, KEYS)
    np.testing.assert_allclose(found.reward[0], [0.0, 1.0, 0.5], atol=1e-4)
    assert found.apart[0, 0] == pytest.approx(0.5 / np.linspace(0, 2, 100).std(), rel=1e-3)  # in standardised units


def test_an_action_outside_the_logged_range_counts_however_alike_the_members_are():
    log = LinearQuadratic().log(20)
    units = jax.tree.map(jnp.asarray, make_units(log))
    low, high = float(log.actions.min()), float(log.actions.max())
    for action, widths in ((low, 0.0), (high, 0.0), (2 * high - low, 1.0), (low - 3 * (high - low), 3.0)):
        assert float(units.beyond(jnp.array([action], jnp.float32))) == pytest.approx(widths, abs=1e-4)


def test_an_action_that_was_never_taken_counts():
    units = jax.tree.map(jnp.asarray, make_units(replace(Chain().log(20), num_actions=4)))
    assert [float(units.beyond(jnp.int32(a))) for a in (0, 1, 2, 3, 9)] == [0.0, 0.0, 1.0, 1.0, 1.0]
