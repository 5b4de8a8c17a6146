"""FQE: its variants, its loss, and its estimates against answers in closed form, within what these logs allow.

Chain: 2,000 episodes. The MDP of the counts, which is all that a log can tell, is itself up to 2 % off the truth;
learned estimates must come within 3 % of it, and within 5 % of the truth.
Linear-quadratic: 2,000 episodes of 10 steps; within 2 % of the value from the logged initial states with FQE, and
within 5 % through 16 learned ROPE features.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ropeval
from ropeval.data import Rows
from ropeval.estimators import ESTIMATORS, fqe
from ropeval.estimators.fqe import QUICK, FQEClipConfig, action_value, make_learner, some_actions
from ropeval.evaluation.methods import make_method
from ropeval.learning.optimise import huber
from tests.problems import Chain, LinearQuadratic

FQE = {"width": 64, "steps": 4_000, "learning_rate": 1e-3}
ROPE = {"width": 64, "steps": 1_500, "learning_rate": 1e-3, "dim": 16}
SETTINGS = {"fqe": FQE, "rope": ROPE}


def test_each_is_what_its_name_says():
    configs = {name: make_method(name).configs[name].model_dump() for name in ("fqe", "fqe-clip", "fqe-deep", "fqe-ln")}
    plain = configs["fqe"]
    clip = ESTIMATORS["fqe-clip"].config().model_dump()
    assert clip == plain | {"clip_targets": True, "steps": 6_000, "learning_rate": 1e-3, "tau": 0.05}
    assert configs["fqe-clip"] == clip | QUICK  # tests run on a CPU
    assert configs["fqe-deep"] == plain | {"depth": 4}
    assert configs["fqe-ln"] == plain | {"layer_norm": True}
    assert ESTIMATORS["fqe-deep"].presets["paper"]["steps"] == 500_000
    assert ESTIMATORS["fqe-clip"].presets["paper"]["steps"] == 300_000


def test_steps_follow_the_log_and_gamma_unless_they_are_given():
    default: Any = make_method("fqe").configs["fqe"]
    assert default.steps_for(9_984, 0.9) == 3_900  # a hundred passes in batches of 256
    assert (default.steps_for(100, 0.0), default.steps_for(1_000_000, 0.9)) == (3_000, 15_000)
    assert default.steps_for(100, 0.98) == 7_500  # three times 50 steps ahead, each of which takes 1/τ
    assert default.steps_for(100, 0.999) == default.steps
    assert default.steps_for(100, 0.99, horizon=40) == default.steps_for(100, 1.0, horizon=40) == 6_000
    given: Any = make_method("fqe", {"fqe": {"steps": 9_000}}).configs["fqe"]
    assert given.steps_for(100, 0.99) == 9_000
    both: Any = make_method("wdr", {"wdr": {"steps": 9_000, "passes": 50}}).configs["wdr"]
    assert both.steps_for(20_480, 0.9) == 4_000
    for name in ("fqe", "fqe-clip", "fqe-deep", "fqe-ln", "wdr"):
        paper: Any = make_method(name, preset="paper").configs[name]
        assert paper.passes is None
        assert paper.steps_for(100, 0.9) == paper.steps


@pytest.mark.training
def test_the_result_says_how_many_steps_were_taken(monkeypatch):
    monkeypatch.setattr(fqe, "FEWEST_STEPS", 40)
    monkeypatch.setattr(fqe, "LOOKS", 0.0)
    small = {"width": 8, "batch": 64, "passes": 2}
    found = ropeval.evaluate(Chain().log(100), Chain.policy(0.8), "fqe", gamma=0.9, members=1, settings={"fqe": small})
    rows = len(Chain().log(100))
    assert found.config["trained_steps"] == {"fqe": max(40, round(2 * rows / 64))}
    assert found.curves[-1]["step"] == found.config["trained_steps"]["fqe"]


def test_targets_are_clipped_to_what_the_rewards_allow():
    """A wild target network: the loss is that of the bounds, −10 and 20, not of what it says."""
    gamma, low, high = 0.9, -10.0, 20.0
    config = FQEClipConfig(width=8, batch=4)
    learner = make_learner(config, 3, gamma, low, high)
    hyper = {"learning_rate": jnp.float32(1e-3)}
    state = jax.jit(learner.init)(jax.random.key(0), hyper)
    state = state._replace(target=jax.tree.map(lambda a: 1e4 * a, state.params))
    x = jax.random.normal(jax.random.key(1), (4, 3))
    batch = Rows(x, jax.random.normal(jax.random.key(2), (4, 1, 3)), jnp.zeros(4), jnp.full(4, gamma))
    q = jax.jit(action_value, static_argnums=2)
    wild = gamma * q(state.target, batch.next_x, gamma)[:, 0]
    assert float(jnp.abs(wild).min()) > 100  # all of them beyond the bounds
    error = jnp.where(wild > 0, high, low) - q(state.params, x, gamma)
    _, metrics = jax.jit(learner.update)(state, batch, jax.random.key(3), hyper)
    assert float(metrics["loss"]) == pytest.approx(float(huber(error, config.huber_delta).mean()), rel=1e-5)


def test_some_of_the_drawn_actions_are_looked_at_all_of_them_in_turn():
    """Each as often as the others, so that targets are right in the mean; where actions are weighed, all of them."""
    x, nothing = jnp.arange(12.0).reshape(3, 4, 1), jnp.zeros(3)  # three rows, four drawn actions
    batch = Rows(jnp.zeros((3, 1)), x, nothing, nothing)
    keys = jax.random.split(jax.random.key(0), 200)
    found = np.asarray(jax.vmap(lambda key: some_actions(batch, 3, key).next_x)(keys))  # [200, 3, 3, 1]
    assert found.shape == (200, 3, 3, 1)
    assert all(len(set(row)) == 3 for row in found[:, 0, :, 0].tolist())  # none twice
    often = np.unique(found, return_counts=True)[1]
    assert len(often) == 12
    np.testing.assert_allclose(often, 150, atol=30)
    assert some_actions(batch, 4, keys[0]) is batch
    weighed = batch._replace(next_weight=jnp.full((3, 4), 0.25))
    assert some_actions(weighed, 3, keys[0]) is weighed


def value(log, policy, method="fqe", **settings):
    known = [part for part in method.split("+") if part in SETTINGS]  # a baseline has no settings
    merged = {part: {**SETTINGS[part], **settings.get(part, {})} for part in known}
    return ropeval.evaluate(log, policy, method, gamma=0.9, members=2, settings=merged, draws=4, resample=False).value


def counted_value(chain, log, right):
    """The exact value in the MDP of the counts."""
    n = chain.size
    counts, total = np.zeros((n, 2, n + 1)), np.zeros((n, 2))
    s, a = log.observations.argmax(1), log.actions
    to = np.where(log.terminations, n, log.next_observations.argmax(1))
    np.add.at(counts, (s, a, to), 1)
    np.add.at(total, (s, a), log.rewards)
    visits = counts.sum(-1)
    P, r, pi = counts / visits[..., None], total / visits, np.array([1 - right, right])
    moves = np.einsum("sat,b->satb", P[:, :, :n], pi).reshape(2 * n, 2 * n)
    q = np.linalg.solve(np.eye(2 * n) - chain.gamma * moves, r.reshape(-1)).reshape(n, 2)
    return float(q[0] @ pi)


@pytest.fixture(scope="module")
def chain_log():
    return Chain().log(2000)


@pytest.fixture(scope="module")
def lq_log():
    return LinearQuadratic().log(2000)


@pytest.mark.parametrize("method", ["fqe", "rope+fqe"])
@pytest.mark.parametrize("right", [0.8, 1.0])
@pytest.mark.training
def test_chain(chain_log, method, right):
    chain = Chain()
    estimate = value(chain_log, chain.policy(right), method)
    assert estimate == pytest.approx(counted_value(chain, chain_log, right), rel=0.03)
    assert estimate == pytest.approx(chain.values(right)[1], rel=0.05)


@pytest.mark.parametrize(("method", "tolerance"), [("fqe", 0.02), ("rope+fqe", 0.05)])
@pytest.mark.training
def test_linear_quadratic_of_a_stochastic_policy_and_of_its_mean(lq_log, method, tolerance):
    lq = LinearQuadratic()
    truths = [lq.value_at(lq_log.initial_observations, sigma) for sigma in (0.0, 0.8)]
    assert truths[1] < 1.5 * truths[0]  # the noise costs much, so confusing the two would show
    for sigma, truth in zip((0.0, 0.8), truths, strict=True):
        assert value(lq_log, lq.policy(sigma), method) == pytest.approx(truth, rel=tolerance)


@pytest.mark.training
def test_linear_quadratic_by_one_of_the_drawn_actions_at_a_time(lq_log):
    lq = LinearQuadratic()
    truth = lq.value_at(lq_log.initial_observations, 0.8)
    assert value(lq_log, lq.policy(0.8), fqe={"actions": 1}) == pytest.approx(truth, rel=0.02)


@pytest.mark.training
def test_truncation_taken_for_termination_would_be_wrong(lq_log):
    lq = LinearQuadratic()
    truth = lq.value_at(lq_log.initial_observations, 0.8)
    mislabelled = replace(lq_log, terminations=lq_log.truncations, truncations=lq_log.terminations)
    assert value(mislabelled, lq.policy(0.8)) > 0.9 * truth  # (both negative) it misses what comes after the cut


@pytest.mark.training
def test_termination_taken_for_truncation_would_be_wrong(chain_log):
    chain = Chain()
    ends = chain_log.terminations
    mislabelled = replace(chain_log, terminations=np.zeros_like(ends), truncations=chain_log.truncations | ends)
    # The successor logged at termination is the last state itself: the chain that never ends.
    endless = replace(chain, terminates=False)
    estimate = value(mislabelled, chain.policy(0.8))
    assert estimate == pytest.approx(endless.values(0.8)[1], rel=0.06)
    assert estimate > 1.5 * chain.values(0.8)[1]


@pytest.mark.training
def test_a_small_huber_delta_biases_noisy_problems(chain_log):
    """Why the default is large: beyond δ the loss is linear, and its minimiser a median."""
    chain = Chain()
    truth = chain.values(0.8)[1]
    assert value(chain_log, chain.policy(0.8), fqe={"huber_delta": 1.0}) < 0.95 * truth


@pytest.mark.training
def test_the_estimate_follows_the_unit_of_the_rewards(lq_log):
    lq = LinearQuadratic()
    short = {"fqe": {"steps": 300}}
    one = value(lq_log, lq.policy(0.0), **short)
    thousand = value(replace(lq_log, rewards=lq_log.rewards * 1000), lq.policy(0.0), **short)
    assert thousand == pytest.approx(1000 * one, rel=2e-3)


@pytest.mark.training
def test_a_constant_reward_is_worth_its_sum(lq_log):
    lq = LinearQuadratic()
    constant = replace(lq_log, rewards=np.full_like(lq_log.rewards, 2.5))
    for method in ("fqe", "rope+fqe"):
        assert value(constant, lq.policy(0.0), method) == pytest.approx(25.0, rel=0.01)
