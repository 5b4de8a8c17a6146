"""ROPE's sampled loss against the exact operator, on a problem small enough to enumerate."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.encoders.similarity import SimilarityNet, distance, loss, sampled_target
from ropeval.tabular import TabularMDP, rope
from tests.problems import Chain

GAMMA, BETA, ONE = 0.9, jnp.asarray(0.7), jnp.asarray(1.0)
RIGHT = np.array([0.3, 0.7])


@pytest.fixture(scope="module")
def chain():
    """(P [S, A, S], r [S, A]) of a chain without end."""
    P, r = Chain(terminates=False).tables()
    return P[..., :-1], r


@pytest.fixture(scope="module")
def encoded():
    """φ of every pair of state and action, [S·A, d], from a network that was not trained."""
    pairs = jnp.concatenate([jnp.repeat(jnp.eye(5), 2, axis=0), jnp.tile(jnp.eye(2), (5, 1))], axis=1)
    return SimilarityNet(jax.random.key(0), 7, 6, 16, 2)(pairs)


def test_the_expected_target_is_the_exact_operator(chain, encoded):
    """Mean of the sampled target over all outcomes of both pairs = F applied to the current d̃, to 1e-5."""
    P, r = chain
    mdp = TabularMDP(P=P, r=r, d0=np.eye(5)[0], gamma=GAMMA)
    current = jax.vmap(lambda x: jax.vmap(lambda y: distance(x, y, BETA))(encoded))(encoded)  # [N, N]
    exact = rope(mdp, np.tile(RIGHT, (5, 1))).operator(np.asarray(current, np.float64))

    outcomes = np.einsum("sat,b->satb", P, RIGHT).reshape(10, 10)  # Pr(next pair | pair)
    rewards = r.reshape(-1)
    target = jax.jit(jax.vmap(partial(sampled_target, gamma=GAMMA, beta=BETA, scale=ONE)))
    for x in range(10):
        for y in range(10):
            i, j = (a.ravel() for a in np.meshgrid(np.arange(10), np.arange(10), indexing="ij"))
            signal = jnp.broadcast_to(jnp.asarray([rewards[x], rewards[y]]), (100, 2))
            values = np.asarray(target(signal, jnp.stack([encoded[i], encoded[j]], axis=1)), np.float64)
            weight = outcomes[x][i] * outcomes[y][j]
            assert weight @ values == pytest.approx(exact[x, y], abs=1e-5)


def test_the_gradient_agrees_with_finite_differences():
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), 5)
        phi, fixed = (SimilarityNet(k, 3, 4, 8, 2) for k in keys[:2])
        phi, fixed = jax.tree.map(lambda a: a.astype(jnp.float64), (phi, fixed))
        x, next_x = (jax.random.normal(k, (2, 12, 3), jnp.float64) for k in keys[2:4])
        signal = jax.random.normal(keys[4], (2, 12), jnp.float64)

        @jax.jit
        def of(net):
            return loss(net, fixed, x, next_x, signal, GAMMA, BETA, ONE, 1.0)

        gradient = jax.jit(jax.grad(of))(phi)
        leaves, tree = jax.tree.flatten(phi)
        rng = np.random.default_rng(0)
        for _ in range(5):  # along random directions
            direction = [jnp.asarray(rng.standard_normal(a.shape)) for a in leaves]
            step = 1e-6

            def moved(sign, direction=direction, step=step):
                return of(
                    jax.tree.unflatten(tree, [a + sign * step * d for a, d in zip(leaves, direction, strict=True)])
                )

            numeric = float(moved(1) - moved(-1)) / (2 * step)
            analytic = sum(float((g * d).sum()) for g, d in zip(jax.tree.leaves(gradient), direction, strict=True))
            assert analytic == pytest.approx(numeric, rel=1e-5, abs=1e-8)


def test_no_gradient_flows_through_targets():
    """The slow copy is a constant of the loss, as in the paper."""
    keys = jax.random.split(jax.random.key(2), 3)
    phi, fixed = (SimilarityNet(k, 3, 4, 8, 1) for k in keys[:2])
    x = jax.random.normal(keys[2], (2, 5, 3))
    gradient = jax.jit(jax.grad(lambda net: loss(phi, net, x, x, x[..., 0], GAMMA, BETA, ONE, 1.0)))(fixed)
    assert all(float(jnp.abs(g).max()) == 0 for g in jax.tree.leaves(gradient))


def test_the_distance_by_hand():
    x, y = jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])
    assert float(distance(x, y, jnp.asarray(2.0))) == pytest.approx(0.5 * (1 + 4) + 2 * np.pi / 2, abs=1e-3)
    # Zero distance of a pair to itself is out of reach: ½(‖φ‖²+‖φ‖²) = ‖φ‖² stays.
    assert float(distance(y, y, ONE)) == pytest.approx(4.0, abs=0.02)
    assert np.isfinite(jax.grad(lambda a: distance(a, y, ONE))(jnp.zeros(2))).all()
    assert np.isfinite(jax.grad(lambda a: distance(a, y, ONE))(y)).all()
