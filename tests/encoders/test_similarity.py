"""The learned distance: its sampled loss against the exact operator, its range, and members of different sizes."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.encoders import ENCODERS
from ropeval.encoders.similarity import (
    SimilarityConfig,
    SimilarityNet,
    Sized,
    distance,
    distinct_codes,
    independent_actions,
    loss,
    mean_difference,
    range_scale,
    sampled_target,
)
from ropeval.evaluation.evaluate import evaluate
from ropeval.learning.engine import Run, member_keys
from ropeval.runtime import float64
from ropeval.tabular import TabularMDP, rope
from tests.problems import Chain, LinearQuadratic

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
    with float64():
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


def test_distance_in_closed_form() -> None:
    x, y = jnp.array([3.0, 0.0]), jnp.array([0.0, 4.0])
    assert float(distance(x, y, jnp.float32(2.0))) == pytest.approx(12.5 + 2 * np.pi / 2, rel=1e-5)
    assert float(distance(x, x, jnp.float32(2.0))) == pytest.approx(9.0, abs=0.02)
    assert np.isfinite(float(distance(0 * x, 0 * y, jnp.float32(2.0))))


def test_independent_actions_choose_among_the_draws_of_each_row() -> None:
    next_x = jnp.arange(2 * 50 * 3).reshape(2, 50, 3, 1)
    chosen = independent_actions(next_x, jax.random.key(0))
    assert chosen.shape == (2, 50, 1)
    places = np.asarray(chosen[..., 0]) - np.arange(100).reshape(2, 50) * 3
    assert set(np.unique(places)) == {0, 1, 2}
    assert (places[0] != places[1]).any()


def test_range_scale_puts_the_mean_of_the_metric_at_half_of_d() -> None:
    values = np.random.default_rng(0).exponential(size=57)
    assert mean_difference(values) == pytest.approx(np.abs(values[:, None] - values[None, :]).mean())
    gamma, dim = 0.99, 6
    c = range_scale(values, gamma, dim)
    assert c * mean_difference(values) / (1 - gamma) == pytest.approx(dim / 2)
    assert range_scale(np.ones(5), gamma, dim) == 1.0


@pytest.mark.training
def test_range_matched_features_carry_the_value_of_the_linear_quadratic_problem() -> None:
    lq = LinearQuadratic()
    log = lq.log(300)
    settings = {
        "rope-range": {"width": 48, "steps": 800, "batch": 128, "learning_rate": 1e-3, "dim": 6},
        "fqe": {"width": 48, "steps": 1500, "batch": 128, "learning_rate": 2e-3, "tau": 0.05},
    }
    answer = evaluate(log, lq.policy(0.0), "rope-range+fqe", gamma=lq.gamma, members=2, settings=settings)
    assert answer.value == pytest.approx(lq.value_at(log.initial_observations.astype(float), 0.0), rel=0.15)
    last = {row["metric"]: row["value"] for row in answer.curves if row["stage"] == "rope-range"}
    assert last["feature_size"] < 0.8  # far from saturated


def test_sign_patterns_are_counted_by_how_common_they_are():
    assert float(distinct_codes(jnp.ones((50, 3)))) == pytest.approx(1.0)
    half = jnp.concatenate([jnp.ones((40, 3)), -jnp.ones((40, 3))])
    assert float(distinct_codes(half)) == pytest.approx(2.0)
    assert float(distinct_codes(0.01 * half)) == pytest.approx(2.0)  # their size is another matter
    rare = jnp.concatenate([jnp.ones((75, 3)), -jnp.ones((25, 3))])
    assert float(distinct_codes(rare)) == pytest.approx(1 / (0.75**2 + 0.25**2))
    first_alike = jnp.concatenate([jnp.ones((3000, 2)), -jnp.ones((3000, 2))])  # looks at the whole log, not its start
    assert float(distinct_codes(first_alike)) == pytest.approx(2.0, rel=1e-2)


# --- members with encodings of different sizes share one shape; each learns as if it had a network of its own ---


def smaller(net: SimilarityNet, dim: int) -> SimilarityNet:
    """The network of which only the first `dim` features are left."""
    where = lambda n: (n.body.head.weight, n.body.head.bias, n.norm.scale, n.norm.shift)  # noqa: E731
    return eqx.tree_at(where, net, (*(a[..., :dim] for a in where(net)),))


def test_unused_features_are_as_good_as_absent() -> None:
    net = SimilarityNet(jax.random.key(0), 3, 8, 16, 2)
    x = jax.random.normal(jax.random.key(1), (20, 3))
    apply = jax.jit(lambda net, x: net(x))
    for dim in (2, 5, 8):
        found = np.asarray(apply(Sized(net, jnp.arange(8) < dim), x))
        np.testing.assert_allclose(found[:, :dim], apply(smaller(net, dim), x), atol=1e-5)
        assert (found[:, dim:] == 0).all()


def test_unused_features_receive_no_gradient() -> None:
    net, used = SimilarityNet(jax.random.key(0), 3, 8, 16, 1), jnp.arange(8) < 5
    x = jax.random.normal(jax.random.key(1), (20, 3))
    gradient = jax.jit(jax.grad(lambda n: (Sized(n, used)(x) ** 2).sum()))(net)
    weight = np.asarray(gradient.body.head.weight)
    assert (weight[:, 5:] == 0).all()
    assert (weight[:, :5] != 0).any()


@pytest.mark.training
def test_each_member_has_its_own_size_and_beta() -> None:
    problem = make_problem(Chain().log(20), Chain().policy(0.8), Chain().gamma)
    config = SimilarityConfig(steps=20, width=16, depth=1, batch=32)
    settings = {"rope.dim": [4, 6, 6], "rope.beta": [1.0, 1.0, 10.0]}
    run = Run(member_keys(0, 1)[jnp.zeros(3, int)], settings=settings)
    features = np.asarray(ENCODERS["rope"](problem, config, run).transitions.rows.x)
    assert features.shape[0] == 3
    assert features.shape[2] == 6
    assert (features[0, :, 4:] == 0).all()
    assert (features[1, :, 4:] != 0).any()
    assert not np.allclose(features[1], features[2], atol=1e-4)  # β differs and nothing else


def test_encoders_draw_next_actions_by_their_weights():
    next_x = jnp.broadcast_to(jnp.arange(3.0)[None, None, :, None], (2, 3000, 3, 1))
    weight = jnp.broadcast_to(jnp.array([0.0, 0.2, 0.8])[None, None], (2, 3000, 3))
    chosen = np.asarray(independent_actions(next_x, jax.random.key(0), weight)).reshape(-1)
    np.testing.assert_allclose(np.bincount(chosen.astype(int), minlength=3) / 6000, [0.0, 0.2, 0.8], atol=0.02)
