"""BCRL: its determinant and its turns. What it finds with its companion, lspe, is in tests/contracts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Rows, Transitions
from ropeval.encoders.bcrl import BcrlConfig, completeness, log_determinant, make_learner


@pytest.mark.parametrize("size", [1, 5, 64])
def test_log_determinant_agrees_with_lapack(size: int) -> None:
    rng = np.random.default_rng(size)
    root = rng.standard_normal((3 * size, size))
    matrix = root.T @ root / (3 * size)
    value, gradient = jax.value_and_grad(log_determinant)(jnp.asarray(matrix, jnp.float32))
    assert float(value) == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-4, abs=1e-4)
    gradient = (gradient + gradient.T) / 2  # elimination reads one half of a symmetric matrix, as it may
    np.testing.assert_allclose(gradient, np.linalg.inv(matrix), rtol=1e-2, atol=1e-2)
    batched = jax.jit(jax.vmap(log_determinant))(jnp.asarray(np.stack([matrix, 2 * matrix]), jnp.float32))
    assert float(batched[1] - batched[0]) == pytest.approx(size * np.log(2), rel=1e-3)


def test_log_determinant_of_dependent_features_is_finite() -> None:
    """A feature that vanishes, and one that repeats another: the ridge bounds the pivots, whatever rounding does."""
    features = jnp.asarray(np.random.default_rng(0).standard_normal((50, 4)), jnp.float32).at[:, 3].set(0.0)
    features = jnp.concatenate([features, features[:, :1]], axis=1)
    value, gradient = jax.value_and_grad(lambda f: log_determinant(f.T @ f / 50))(features)
    assert float(value) < 2 * np.log(1e-6)
    assert np.isfinite(np.asarray(gradient)).all()


@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-3])
def test_log_determinant_of_many_features_that_nearly_depend(noise: float) -> None:
    """Features as BCRL's on HumanoidStandup: large means, more of them than directions, conditions of 1e6 to 1e10."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(1024, 80)) @ rng.normal(size=(80, 120)) / 3.3
    features = jnp.asarray(14.0 + mixed + noise * rng.normal(size=mixed.shape), jnp.float32)
    value, gradient = jax.value_and_grad(lambda f: log_determinant(f.T @ f / len(f)))(features)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    if noise == 1e-1:  # what single precision can hold is still right
        exact = np.asarray(features, np.float64)
        assert float(value) == pytest.approx(np.linalg.slogdet(exact.T @ exact / len(exact))[1], abs=0.1)


def test_completeness_is_zero_for_features_that_are_complete() -> None:
    """One step of x' = x/2 with reward 3x: φ(x) = x, and M = [γ/2; 3]."""
    model = jnp.array([[0.45], [3.0]])
    x = jnp.array([2.0])
    row = Rows(x, 0.5 * x[None], 6.0, jnp.float32(0.9))
    assert float(completeness(lambda a: a, model, row)) == pytest.approx(0)
    assert float(completeness(lambda a: a, model, row._replace(reward=7.0))) == pytest.approx(1)
    both = row._replace(next_x=jnp.stack([x, 0 * x]), next_weight=jnp.array([0.5, 0.5]))
    assert float(completeness(lambda a: a, model, both)) == pytest.approx(0)
    ended = completeness(lambda a: a, model, row._replace(discount=jnp.float32(0.0)))  # nothing follows
    assert float(ended) == pytest.approx(0.9**2)


def test_model_and_features_take_turns() -> None:
    learner = make_learner(BcrlConfig(width=8, depth=1, batch=16), 3, 2, 0.9, 1.0, 2)
    hyper = {"learning_rate": jnp.float32(1e-3)}
    state = jax.jit(learner.init)(jax.random.key(0), hyper)
    rng = np.random.default_rng(0)
    x, next_x = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in ((16, 3), (16, 2, 3)))
    batch = Rows(x, next_x, x[:, 0], jnp.full(16, 0.9))
    moved = []
    update = jax.jit(learner.update)
    for _ in range(6):
        after, metrics = update(state, batch, jax.random.key(0), hyper)
        moved.append(
            (bool((after.model != state.model).any()), bool((after.phi.head.weight != state.phi.head.weight).any()))
        )
        state = after
    assert moved == [(True, False)] * 2 + [(False, True)] * 2 + [(True, False)] * 2
    shown = metrics | jax.jit(learner.probe)(state, Transitions(batch, next_x))
    assert {"loss", "log_det", "feature_std"} <= set(shown)
