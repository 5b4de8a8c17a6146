"""The small worlds: exact answers against simulation, and their policies against what they say of themselves."""

from typing import Any

import jax
import numpy as np
import pytest

from ropeval.bench.data.worlds import chain, epidemic, icu, inventory
from ropeval.bench.data.worlds.table import Table, TablePolicy
from ropeval.errors import UserError
from ropeval.policies import UniformPolicy
from ropeval.policies.policy import Space

TABLES = {"chain": chain, "inventory": inventory, "epidemic": epidemic, "icu": icu}
PLACE = "ropeval.bench.data.worlds"


def simulate(table: Table, policy, gamma: float, time_limit: int, walkers: int, seed: int):
    """[n] discounted returns over a long time; [n] returns and [n] lengths within the time limit."""
    rng = np.random.default_rng(seed)
    state = rng.choice(len(table.d0), walkers, p=table.d0)
    discounted, returns, lengths = np.zeros(walkers), np.zeros(walkers), np.zeros(walkers)
    for time in range(int(np.log(1e-4) / np.log(gamma))):
        alive = np.flatnonzero(~table.terminal[state])
        if not len(alive):
            break
        before = state[alive]
        action = policy.sample(table.observations[before].astype(np.float32), rng)
        reach = table.P[before, action].cumsum(axis=1)
        state[alive] = (reach <= rng.random(len(alive))[:, None] * reach[:, -1:]).sum(axis=1)
        reward = table.rewards[before, action, state[alive]]
        discounted[alive] += gamma**time * reward
        if time < time_limit:
            returns[alive] += reward
            lengths[alive] += 1
    return discounted, returns, lengths


@pytest.mark.parametrize("world", TABLES)
@pytest.mark.parametrize("name", ["weak", "best"])
def test_exact_answers_agree_with_simulation(world, name):
    module = TABLES[world]
    policy = getattr(module.policies, name)
    answer = module.world().answer(policy, module.GAMMA, module.TIME_LIMIT)
    played = simulate(module.world(), policy, module.GAMMA, module.TIME_LIMIT, walkers=800, seed=1)
    for known, samples in zip(answer[:3], played, strict=True):
        assert abs(samples.mean() - known) < 4 * samples.std() / len(samples) ** 0.5 + 1e-9


@pytest.mark.parametrize("world", TABLES)
def test_rows_are_distributions_and_states_look_different(world):
    table = TABLES[world].world()
    np.testing.assert_allclose(table.P.sum(axis=-1), 1.0, atol=1e-12)
    assert table.d0.sum() == pytest.approx(1.0)
    live = table.observations[~table.terminal]
    assert len(np.unique(live, axis=0)) == len(live)


def test_what_is_no_state_counts_as_the_nearest_one():
    policy: Any = epidemic.policies.fair
    at = lambda *seen: policy.probabilities(np.array([seen], np.float32))[0]  # noqa: E731
    np.testing.assert_array_equal(at(20.2, 2.9), at(20, 3))
    np.testing.assert_array_equal(at(-3, 99), at(0, 24))
    assert at(24, 24).sum() == pytest.approx(1.0)  # more than the village has


def test_a_policy_that_cannot_tell_has_no_exact_answer():
    from ropeval.policies import CallablePolicy

    silent = CallablePolicy(lambda seen, rng: rng.integers(2, size=len(seen)), deterministic=False, name="silent")
    with pytest.raises(UserError, match=r"silent.*cannot tell"):
        chain.world().answer(silent.fitted(Space(1, 2, True)), 0.95, 10)


def test_any_policy_may_be_asked_a_table():
    uniform = UniformPolicy(num_actions=2)
    flat = TablePolicy("flat", chain.world(), np.full((20, 2), 0.5))
    one, two = (chain.world().answer(p, 0.95, 100) for p in (uniform, flat))
    np.testing.assert_allclose(one, two, rtol=1e-9)


@pytest.mark.parametrize("name", ["chain", "inventory"])
def test_a_table_inside_a_program(name):
    """The same probabilities, also for what is no state, and draws that follow them."""
    world = TABLES[name]
    policy = world.policies.fair
    compiled = policy.compiled()
    states = world.world().observations.astype(np.float32)
    dreamt = np.concatenate([states, states + np.random.default_rng(0).normal(0, 3, states.shape).astype(np.float32)])
    np.testing.assert_allclose(compiled.probabilities(compiled.params, dreamt), policy.probabilities(dreamt), rtol=1e-6)
    seen = np.repeat(states[:1], 20_000, axis=0)
    drawn = np.asarray(compiled.act(compiled.params, seen, jax.random.key(0)))
    assert drawn.dtype == np.int32
    counted = np.bincount(drawn, minlength=policy.action_size) / len(seen)
    np.testing.assert_allclose(counted, policy.probabilities(states[:1])[0], atol=0.02)
