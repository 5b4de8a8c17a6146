"""The small worlds: exact answers against simulation, and their policies against what they say of themselves."""

from typing import Any

import jax
import numpy as np
import pytest

from ropeval.bench.data.episodes import Player
from ropeval.bench.data.worlds import bandit, chain, epidemic, icu, inventory, linear
from ropeval.bench.data.worlds.table import Table, TablePolicy
from ropeval.errors import UserError
from ropeval.policies import UniformPolicy, load_policy
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


@pytest.mark.parametrize("world", [*TABLES, "bandit", "linear"])
def test_policies_go_from_weak_to_strong(world):
    modules = {**TABLES, "bandit": bandit, "linear": linear}
    values = []
    for name in modules[world].policies:
        policy = load_policy(f"{PLACE}.{world}:policies.{name}")
        assert policy.sha256 == getattr(modules[world].policies, name).sha256
        if world in TABLES:
            answer = TABLES[world].world().answer(policy, TABLES[world].GAMMA, TABLES[world].TIME_LIMIT)
        else:
            answer = bandit.answer(policy) if world == "bandit" else linear.answer(policy, linear.GAMMA, 200)
        values.append(answer.discounted)
    assert len(values) >= 5
    assert (np.diff(values) > 0.02 * (values[-1] - values[0])).all()


def test_the_environment_plays_the_table():
    """Every step that Gymnasium makes is one of the table's, with its reward; and terminal where it says so."""
    table = icu.world()
    player = Player(f"{PLACE}.environments:ropeval/ICU-v0", icu.policies.fair)
    numbers = {tuple(seen): place for place, seen in enumerate(table.observations) if not table.terminal[place]}
    for number in range(20):
        episode = player.play(0, "x", number)
        states = [numbers[tuple(seen)] for seen in episode.observations[: len(episode)].astype(int)]
        assert table.d0[states[0]] > 0
        for step, (state, action) in enumerate(zip(states, episode.actions, strict=True)):
            last = step == len(episode) - 1
            ends = np.flatnonzero(table.terminal) if last and episode.terminated else states[step + 1 : step + 2]
            possible = [table.rewards[state, action, end] for end in ends if table.P[state, action, end] > 0]
            assert possible == [] if last and episode.truncated else episode.rewards[step] in possible


def test_propensities_are_frequencies():
    table = inventory.world()
    policy = inventory.policies.fair
    seen = np.repeat(table.observations[[0, 40, 100]], 20_000, axis=0).astype(np.float32)
    actions = policy.sample(seen, np.random.default_rng(0)).reshape(3, -1)
    for state in range(3):
        said = np.exp([policy.log_prob(seen[[state * 20_000]], np.array([a]))[0] for a in range(5)])
        counted = np.bincount(actions[state], minlength=5) / 20_000
        np.testing.assert_allclose(counted, said, atol=4 * 0.5 / 20_000**0.5)
        assert said.sum() == pytest.approx(1.0)


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


# --- the linear-quadratic problem -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weak", "best"])
def test_matrix_algebra_agrees_with_rollouts(name):
    policy = getattr(linear.policies, name)
    answer = linear.answer(policy, linear.GAMMA, linear.TIME_LIMIT)
    rng = np.random.default_rng(0)
    state = rng.multivariate_normal(np.zeros(4), linear.START, 4_000)
    discounted, returns = np.zeros(4_000), np.zeros(4_000)
    for time in range(linear.TIME_LIMIT):
        push = policy.sample(state, rng)
        reward = -(np.einsum("ni,ij,nj->n", state, linear.Q, state) + np.einsum("ni,ij,nj->n", push, linear.R, push))
        discounted, returns = discounted + linear.GAMMA**time * reward, returns + reward
        state = state @ linear.A.T + push @ linear.B.T + rng.multivariate_normal(np.zeros(4), linear.NOISE, 4_000)
    assert abs(discounted.mean() - answer.discounted) < 4 * discounted.std() / 4_000**0.5
    assert abs(returns.mean() - answer.total) < 4 * returns.std() / 4_000**0.5


def test_no_gain_near_riccatis_is_better():
    best = linear.best_gain()
    value = linear.answer(linear.LinearPolicy("best", best, 0.1), linear.GAMMA, 1).discounted
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = linear.LinearPolicy("other", best + 0.05 * rng.standard_normal(best.shape), 0.1)
        assert linear.answer(other, linear.GAMMA, 1).discounted < value


def test_only_linear_policies_have_an_answer_there():
    with pytest.raises(UserError, match="only linear policies"):
        linear.answer(UniformPolicy(-1, 1), linear.GAMMA, 10)


# --- the bandit -----------------------------------------------------------------------------------------------


def test_integration_agrees_with_sampling():
    policy = bandit.policies.good
    answer = bandit.answer(policy)
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((100_000, bandit.CONTEXT))
    actions = policy.sample(contexts.astype(np.float32), rng)
    rewards = bandit.mean_rewards(contexts)[np.arange(len(actions)), actions]
    assert abs(rewards.mean() - answer.discounted) < 4 * rewards.std() / len(rewards) ** 0.5
    assert answer.standard_error < 0.005 * 1.3  # of the range of its policies
    assert answer.total == answer.discounted


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


def test_a_linear_policy_inside_a_program():
    policy: Any = linear.policies.good
    compiled = policy.compiled()
    seen = np.random.default_rng(0).standard_normal((20_000, 4)).astype(np.float32)
    noise = np.asarray(compiled.act(compiled.params, seen, jax.random.key(0))) + seen @ policy.gain.T
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(np.cov(noise.T), policy.noise**2 * np.eye(2), atol=0.005)
