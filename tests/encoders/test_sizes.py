"""Members with encodings of different sizes share one shape; each learns as if it had a network of its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ropeval.data import make_problem
from ropeval.encoders.rope import RopeConfig, fit
from ropeval.encoders.similarity import SimilarityNet, Sized
from ropeval.learning.engine import Run, member_keys
from tests.problems import Chain

CHAIN = Chain()


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


def test_each_member_has_its_own_size_and_beta() -> None:
    problem = make_problem(CHAIN.log(20), CHAIN.policy(0.8), CHAIN.gamma)
    config = RopeConfig(steps=20, width=16, depth=1, batch=32)
    settings = {"rope.dim": [4, 6, 6], "rope.beta": [1.0, 1.0, 10.0]}
    run = Run(member_keys(0, 1)[jnp.zeros(3, int)], settings=settings)
    features = np.asarray(fit(problem, config, run).transitions.rows.x)
    assert features.shape[0] == 3
    assert features.shape[2] == 6
    assert (features[0, :, 4:] == 0).all()
    assert (features[1, :, 4:] != 0).any()
    assert not np.allclose(features[1], features[2], atol=1e-4)  # β differs and nothing else
