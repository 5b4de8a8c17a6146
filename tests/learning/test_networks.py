"""Networks and their initialisation, against what they are meant to be."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from ropeval.encoders.similarity import distance
from ropeval.learning.networks import MLP, Norm, gaussian, orthogonal


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (64, 64), (256, 256), (23, 256), (256, 1), (1, 1)])
def test_orthogonal_rows_or_columns(shape):
    w = np.asarray(orthogonal(*gaussian(jax.random.split(jax.random.key(0), 1), [shape])), np.float64)
    gram = w @ w.T if shape[0] <= shape[1] else w.T @ w
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=2e-5)


def test_orthogonal_matrices_are_spread_evenly():
    """Every entry of a uniformly random 3×3 rotation has mean 0 and variance 1/3."""
    keys = jax.random.split(jax.random.key(1), 4000)
    matrices = np.asarray(jax.vmap(lambda key: orthogonal(*gaussian(key[None], [(3, 3)])))(keys))
    np.testing.assert_allclose(matrices.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(matrices.var(axis=0), 1 / 3, atol=0.03)


def test_matrices_are_what_each_key_draws_alone():
    keys, shapes = jax.random.split(jax.random.key(2), 3), [(4, 64), (64, 64), (64, 1)]
    for key, shape, drawn in zip(keys, shapes, gaussian(keys, shapes), strict=True):
        alone = jax.random.normal(key, shape) / np.sqrt(2.0)
        np.testing.assert_allclose(drawn, alone, rtol=1e-6)


def test_layer_norm_is_affine_after_normalising():
    x = jnp.array([1.0, 2.0, 3.0, 10.0])
    expected = (np.asarray(x) - 4) / np.std(np.asarray(x))
    np.testing.assert_allclose(Norm(4)(x), expected, rtol=1e-4)


def test_rows_and_single_examples_agree():
    net = MLP(jax.random.key(0), 3, 2, 8, 2, norm=True)
    x = jax.random.normal(jax.random.key(1), (5, 4, 3))
    together, one_by_one = jax.jit(lambda net, x: (net(x), jax.vmap(jax.vmap(net))(x)))(net, x)
    np.testing.assert_allclose(together, one_by_one, atol=1e-6)


def test_shapes_in_signatures_are_held_to():
    """Two βs for one pair of encodings would broadcast in silence; in the tests they do not get so far."""
    with pytest.raises(jaxtyping.TypeCheckError, match="beta"):
        distance(jnp.ones(3), jnp.ones(3), jnp.ones(2))


def test_hidden_layers_may_be_rounded_and_the_output_is_not():
    x = jax.random.normal(jax.random.key(1), (64, 5))
    for norm in (False, True):
        exact, rounded = (MLP(jax.random.key(0), 5, 2, 32, 2, norm, precision=p) for p in ("float32", "bfloat16"))
        assert rounded(x).dtype == jnp.float32
        assert {leaf.dtype for leaf in jax.tree.leaves(jax.grad(lambda net: net(x).sum())(rounded))} == {
            np.dtype("float32")
        }
        size = float(jnp.abs(exact(x)).mean())
        off = float(jnp.abs(exact(x) - rounded(x)).mean())
        assert 0 < off < 0.02 * size  # bfloat16 holds 8 bits
