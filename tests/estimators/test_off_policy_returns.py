"""Off-policy returns against exact action values: fixed points, one step at a time, and when they are FQE."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ropeval
from ropeval.data import make_problem
from ropeval.data.transitions import Rows
from ropeval.estimators import fqe
from ropeval.estimators.off_policy_returns import (
    ReturnsConfig,
    carried,
    coefficients,
    looked_over,
    make_learner,
    notes_on,
    segment_returns,
)
from ropeval.evaluation.methods import make_method
from ropeval.learning.batches import followed
from ropeval.policies import CallablePolicy
from tests.problems import Chain, LinearQuadratic

KINDS = ("retrace", "tree-backup", "q-lambda")
RIGHT = 0.8
PI = np.array([1 - RIGHT, RIGHT])
of_segments = jax.jit(jax.vmap(segment_returns))


def segments_of(data, length):
    first = jnp.arange(len(data))
    return np.asarray(followed(first, jnp.asarray(data.starts), length))


def returns(data, table, carry, gamma, length):
    """G of every logged step, as the first of a segment, for q given as a table [S, A]."""
    rows = segments_of(data, length)
    state, following = data.observations.argmax(axis=1), data.next_observations.argmax(axis=1)
    discount = np.where(data.terminations, 0.0, gamma)
    columns = (data.rewards, discount, (table @ PI)[following], table[state, data.actions], carry)
    return np.asarray(of_segments(*(jnp.asarray(column)[rows] for column in columns)))[:, 0]


def sweep(data, table, carry, gamma, length):
    """q fitted to its own returns, by the mean of every cell."""
    found, cell = returns(data, table, carry, gamma, length), (data.observations.argmax(axis=1), data.actions)
    total, count = np.zeros_like(table), np.zeros_like(table)
    np.add.at(total, cell, found)
    np.add.at(count, cell, 1)
    return total / count


def chain_case(kind, slip, episodes=30):
    chain = Chain(size=3, gamma=0.8, slip=slip)
    data = chain.log(episodes, length=12, log_probs=True)
    traces = 0.9 * coefficients(kind, make_problem(data, chain.policy(RIGHT), chain.gamma), None)
    return chain, data, carried(traces, data.starts)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_without_chance_the_exact_q_is_its_own_return_and_every_start_leads_there(kind):
    chain, data, carry = chain_case(kind, slip=0.0)
    exact, _ = chain.values(RIGHT)
    state = data.observations.argmax(axis=1)
    np.testing.assert_allclose(returns(data, exact, carry, 0.8, 5), exact[state, data.actions], atol=1e-5)
    table = np.random.default_rng(0).normal(size=exact.shape)
    for _ in range(50):
        table = sweep(data, table, carry, 0.8, 5)
    np.testing.assert_allclose(table, exact, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_with_chance_the_exact_q_is_its_mean_return(kind):
    chain, data, carry = chain_case(kind, slip=0.1, episodes=1500)
    exact, _ = chain.values(RIGHT)
    np.testing.assert_allclose(sweep(data, exact, carry, 0.8, 5), exact, atol=0.03)


def test_looking_ahead_is_faster_than_one_step_at_a_time():
    chain, data, carry = chain_case("retrace", slip=0.0)
    exact, _ = chain.values(RIGHT)
    start = np.zeros_like(exact)
    ahead, one = (np.abs(sweep(data, start, carry, 0.8, length) - exact).max() for length in (8, 1))
    assert ahead < 0.9 * one
    np.testing.assert_array_equal(  # where nothing is carried, both are the same
        sweep(data, start, 0 * carry, 0.8, 8), sweep(data, start, carry, 0.8, 1)
    )


def test_coefficients_are_what_their_names_say():
    chain = Chain(size=3)
    data = chain.log(5, right=0.5, log_probs=True)
    problem = make_problem(data, chain.policy(0.8), 0.9)
    chosen = np.where(data.actions == 1, 0.8, 0.2)
    found = {kind: coefficients(kind, problem, None)[0] for kind in KINDS}
    np.testing.assert_allclose(found["retrace"], np.minimum(1.0, chosen / 0.5), rtol=1e-6)
    np.testing.assert_allclose(found["tree-backup"], chosen, rtol=1e-6)
    np.testing.assert_array_equal(found["q-lambda"], 1.0)


def test_what_is_carried_stays_in_its_episode():
    steps, starts = np.arange(1.0, 7.0)[None], np.array([0, 3, 3, 6])
    np.testing.assert_array_equal(carried(steps, starts)[0], [2, 3, 0, 5, 6, 0])
    rows = followed(jnp.array([1, 2, 4]), jnp.asarray(starts), 3)
    np.testing.assert_array_equal(rows, [[1, 2, 0], [2, 0, 1], [4, 5, 3]])  # from the beginning: nothing is carried
    every = np.asarray(followed(jnp.arange(6), jnp.asarray(starts), 5))
    for place in every.T:  # of a segment: each holds every row of the log once
        np.testing.assert_array_equal(np.sort(place), np.arange(6))


def test_where_nothing_is_carried_they_say_that_they_are_fqe():
    lq = LinearQuadratic()
    data = lq.log(5, log_probs=True)
    for policy, kind, why in ((0.0, "retrace", "deterministic"), (0.5, "tree-backup", "continuum")):
        problem = make_problem(data, lq.policy(policy), 0.9)
        traces = coefficients(kind, problem, None)
        assert not traces.any()
        assert why in notes_on(kind, problem, ReturnsConfig(), None, 0.0)[0]
    problem = make_problem(data, lq.policy(0.5), 0.9)
    assert notes_on("retrace", problem, ReturnsConfig(), None, 0.5) == ()
    assert "reduces to fqe" in notes_on("retrace", problem, ReturnsConfig(segment=1), None, 0.5)[0]
    bandit = make_problem(lq.log(5, length=1), lq.policy(0.5), 0.9)
    assert "a single step" in notes_on("q-lambda", bandit, ReturnsConfig(), None, 1.0)[0]


def test_a_segment_with_nothing_carried_is_a_mini_batch_of_fqe():
    """Also in the number of rows: a step costs no more pairs of q, and of q̄ the logged ones on top."""
    rng = np.random.default_rng(0)
    shapes = {"x": (5, 3, 2), "next_x": (5, 3, 4, 2), "reward": (5, 3), "discount": (5, 3), "next_weight": (5, 3, 4)}
    ahead = Rows(**{name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()})
    flat = jax.tree.map(lambda a: a.reshape(15, *a.shape[2:]), ahead)
    config = ReturnsConfig(width=8, depth=1, batch=16, segment=3)
    key, hyper = jax.random.key(0), {"learning_rate": jnp.float32(1e-3)}
    looking, plain = make_learner(config, 2, 0.9), fqe.make_learner(config, 2, 0.9)
    assert (looking.rows, looking.segment) == (5, 3)
    state = plain.init(key, hyper)
    expected = float(jax.jit(plain.update)(state, flat, key, hyper)[1]["loss"])
    update = jax.jit(looking.update)
    losses = [float(update(state, ahead._replace(own=jnp.full((5, 3), c)), key, hyper)[1]["loss"]) for c in (0.0, 1.0)]
    assert losses[0] == pytest.approx(expected, rel=1e-5)
    assert losses[1] != pytest.approx(expected, rel=1e-2)


def test_who_tells_no_probabilities_is_refused_where_they_are_asked_for():
    data = Chain().log(3)
    silent = CallablePolicy(lambda o, rng: rng.integers(2, size=len(o)), deterministic=False, name="silent")
    for kind in ("retrace", "tree-backup"):
        with pytest.raises(ropeval.UserError, match=f"silent.*{kind} needs"):
            make_method(kind).check(data, silent)
        make_method(kind).check(LinearQuadratic().log(3), LinearQuadratic().policy(0.0))  # nothing is asked for
        make_method(kind).check(data, Chain.policy(1.0).fitted(data.space))
    make_method("q-lambda").check(data, silent)


def test_segment_returns_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    r, d, v, q, c = (rng.normal(size=4) for _ in range(5))
    plain = []
    for first in range(4):  # q + Σ_k Π(γc) δ
        weight, total = 1.0, q[first]
        for k in range(first, 4):
            total += weight * (r[k] + d[k] * v[k] - q[k])
            weight *= d[k] * c[k]
        plain.append(total)
    np.testing.assert_allclose(segment_returns(*map(jnp.asarray, (r, d, v, q, c))), plain, rtol=1e-4)


@pytest.mark.parametrize("carry", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_how_far_targets_look_is_how_fast_a_constant_error_goes(gamma, carry):
    """q̄ is 1 everywhere, where 0 is right: what is left of it in the targets, against what FQE's leave, which is γ."""
    length = 8
    ones, nothing = jnp.ones(length), jnp.zeros(length)
    carried = jnp.full(length, carry).at[-1].set(0.0)
    left = segment_returns(nothing, gamma * ones, ones, ones, carried)
    faster = (1.0 - float(left.mean())) / (1.0 - gamma)
    assert looked_over(gamma * carry, length) == pytest.approx(faster, rel=1e-3)
