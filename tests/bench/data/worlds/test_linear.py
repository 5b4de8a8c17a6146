"""The linear-quadratic world: matrix algebra against rollouts."""

from typing import Any

import jax
import numpy as np
import pytest

from ropeval.bench.data.worlds import linear
from ropeval.errors import UserError
from ropeval.policies import UniformPolicy


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


def test_a_linear_policy_inside_a_program():
    policy: Any = linear.policies.good
    compiled = policy.compiled()
    seen = np.random.default_rng(0).standard_normal((20_000, 4)).astype(np.float32)
    noise = np.asarray(compiled.act(compiled.params, seen, jax.random.key(0))) + seen @ policy.gain.T
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(np.cov(noise.T), policy.noise**2 * np.eye(2), atol=0.005)
