"""The named variants of FQE: each is what its name says. That each finds known values is in tests/contracts."""

import jax
import jax.numpy as jnp
import pytest

from ropeval.data import Rows
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.fqe import action_value, make_learner
from ropeval.estimators.fqe_variants import FQEClipConfig
from ropeval.evaluation.methods import make_method
from ropeval.learning.optimise import huber


def test_each_is_what_its_name_says() -> None:
    configs = {name: make_method(name).configs[name].model_dump() for name in ("fqe", "fqe-clip", "fqe-deep", "fqe-ln")}
    plain = configs["fqe"]
    assert configs["fqe-clip"] == plain | {"clip_targets": True}
    assert configs["fqe-deep"] == plain | {"depth": 4}
    assert configs["fqe-ln"] == plain | {"layer_norm": True}
    assert ESTIMATORS["fqe-deep"].presets["paper"]["steps"] == 500_000
    assert ESTIMATORS["fqe-clip"].presets["paper"]["steps"] == 300_000


def test_targets_are_clipped_to_what_the_rewards_allow() -> None:
    """A wild target network: the loss is that of the bounds, −1/(1−γ) and 2/(1−γ), not of what it says."""
    gamma, low, high = 0.9, -1.0, 2.0
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
    error = jnp.where(wild > 0, high, low) / (1 - gamma) - q(state.params, x, gamma)
    _, metrics = jax.jit(learner.update)(state, batch, jax.random.key(3), hyper)
    assert float(metrics["loss"]) == pytest.approx(float(huber(error, config.huber_delta).mean()), rel=1e-5)
