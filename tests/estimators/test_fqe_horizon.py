"""Fixed-horizon heads: each is the exact value of so many steps, and then of the log's own value."""

import jax.numpy as jnp
import numpy as np
import pytest

import ropeval
from ropeval.estimators.fqe_horizon import MOST, FQEHorizonConfig, head_targets, some_head
from ropeval.tabular.solve import action_values, policy_chain, state_values
from tests.problems import Chain
from tests.tabular.strategies import garnet


def test_every_head_is_the_value_of_its_horizon():
    mdp, pi, behaviour = garnet(6, 2, 3, seed=0, gamma=0.9)
    heads, tail = 5, state_values(mdp, behaviour)  # V_b
    pairs, mean = mdp.P.reshape(12, 6), policy_chain(mdp, pi)
    q = np.random.default_rng(0).normal(size=(12, heads))
    discount = np.full(12, 0.9)
    for _ in range(heads):  # what s' is worth on average, as the regression finds it
        following = np.einsum("xs,sa,sah->xh", pairs, pi, q.reshape(6, 2, heads))
        q = np.asarray(head_targets(mdp.r.reshape(-1), jnp.asarray(discount), jnp.asarray(following), pairs @ tail))
    value = tail  # h steps of π_e, then the behaviour for ever
    for head in range(heads):
        expected = mdp.r + 0.9 * mdp.P @ value
        np.testing.assert_allclose(q[:, head].reshape(6, 2), expected, rtol=1e-5)
        value = mean.r + 0.9 * mean.P @ value


def test_where_only_so_many_steps_count_every_head_is_their_exact_value_on_the_chain():
    chain, right, heads = Chain(size=4), 0.7, 6
    P, r = chain.tables()
    pi, pairs, ends = np.array([1 - right, right]), P[:, :, :4].reshape(8, 4), P[:, :, 4].reshape(8)
    reward, q = jnp.asarray(r.reshape(-1)), np.random.default_rng(0).normal(size=(8, heads))
    mean = np.divide(pairs, 1 - ends[:, None], out=np.zeros_like(pairs), where=ends[:, None] < 1)
    for _ in range(heads):
        following = np.einsum("xs,a,sah->xh", mean, pi, q.reshape(4, 2, heads))  # where it goes on
        q = np.asarray(head_targets(reward, jnp.asarray(0.9 * (1 - ends)), jnp.asarray(following), jnp.zeros(8)))
    value = np.zeros(4)
    for left in range(1, heads + 1):  # plain dynamic programming
        exact = r + 0.9 * P[:, :, :4] @ value
        np.testing.assert_allclose(some_head(jnp.asarray(q), jnp.int32(left)).reshape(4, 2), exact, atol=1e-5)
        value = exact @ pi
    assert not some_head(jnp.asarray(q), jnp.int32(0)).any()


def test_a_setting_that_contradicts_the_question_is_refused():
    with pytest.raises(ropeval.UserError, match="horizon is 7, but 3 steps count"):
        ropeval.evaluate(
            Chain().log(5), Chain.policy(0.7), "fqe-horizon", horizon=3, settings={"fqe-horizon": {"horizon": 7}}
        )


def test_with_the_policys_own_tail_every_head_is_its_value():
    mdp, pi, _ = garnet(5, 2, 2, seed=1, gamma=0.9)
    exact = action_values(mdp, pi).reshape(-1)
    tail = mdp.P.reshape(10, 5) @ state_values(mdp, pi)
    heads = jnp.asarray(np.tile(tail[:, None], 4))
    found = head_targets(jnp.asarray(mdp.r.reshape(-1)), jnp.full(10, 0.9), heads, jnp.asarray(tail))
    np.testing.assert_allclose(found, np.tile(exact[:, None], 4), rtol=1e-5)


def test_heads_follow_the_discount_unless_they_are_given():
    assert FQEHorizonConfig().heads(0.9) in (20, 21)
    assert FQEHorizonConfig().heads(0.0) == 2
    assert FQEHorizonConfig().heads(0.9999) == MOST
    assert FQEHorizonConfig(horizon=7).heads(0.9) == 7
    assert FQEHorizonConfig(steps=400).stages("fqe-horizon") == {"log-value": 100, "fqe-horizon": 400}


def test_a_terminal_step_has_no_tail():
    found = head_targets(jnp.array([2.0]), jnp.array([0.0]), jnp.ones((1, 3)), jnp.ones(1))
    assert found.tolist() == [[2.0, 2.0, 2.0]]
    goes_on = head_targets(jnp.zeros(1), jnp.full(1, 0.9), jnp.ones((1, 1)), jnp.ones(1))
    assert float(goes_on[0, 0]) == pytest.approx(0.9)
