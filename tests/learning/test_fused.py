"""Kernels for two hidden layers, interpreted, against the same network in float32 and as XLA runs it in bfloat16."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.learning import fused
from ropeval.learning.fused import TILE, Weights, applies, two_hidden
from ropeval.learning.networks import MLP


def network(inputs: int, width: int, outputs: int, *members: int) -> Weights:
    shapes = [(inputs, width), (width,), (width, width), (width,), (width, outputs), (outputs,)]
    keys = jax.random.split(jax.random.key(inputs), len(shapes))
    return Weights(
        *(
            jax.random.normal(key, (*members, *shape)) / np.sqrt(shape[0])
            for key, shape in zip(keys, shapes, strict=True)
        )
    )


def rounded(a: jax.Array) -> jax.Array:
    """To bfloat16; the gradient passes as if it were not."""
    return a + jax.lax.stop_gradient(a.astype(jnp.bfloat16).astype(jnp.float32) - a)


def exact(weights: Weights, x: jax.Array) -> jax.Array:
    """In float32, of factors that are rounded."""
    h = rounded(jax.nn.relu(rounded(x) @ rounded(weights.w1) + rounded(weights.b1)[None]))
    h = rounded(jax.nn.relu(h @ rounded(weights.w2) + weights.b2[None]))
    return h @ rounded(weights.w3) + weights.b3[None]


def off_by(found, true) -> float:
    return float(jnp.linalg.norm(found - true) / jnp.linalg.norm(true))


def squares(function):
    return lambda weights, x: ((function(weights, x) - 3.0) ** 2).mean()


@settings(max_examples=4, deadline=None)  # each is compiled anew
@given(
    inputs=st.integers(1, 63),
    outputs=st.integers(1, 20),
    width=st.sampled_from(fused.WIDTHS),
    tiles=st.integers(1, 3),
)
def test_values_and_gradients_are_the_networks_to_the_rounding_of_bfloat16(inputs, outputs, width, tiles):
    weights = network(inputs, width, outputs)
    x = jax.random.normal(jax.random.key(1), (tiles * TILE, inputs))
    assert off_by(two_hidden(weights, x), exact(weights, x)) < 1e-4
    found, true = (jax.grad(squares(f))(weights, x) for f in (two_hidden, exact))
    for name, own, right in zip(Weights._fields, found, true, strict=True):
        assert (own.dtype, own.shape) == (jnp.float32, right.shape)
        assert off_by(own, right) < 0.01, name


def test_kernels_are_no_further_from_float32_than_xla_is_with_the_same_rounding():
    plain, rounded = (MLP(jax.random.key(0), 23, 1, 256, 2, precision=p) for p in ("float32", "bfloat16"))
    layers = (*plain.hidden, plain.head)
    weights = Weights(*(a for own in layers for a in (own.weight, own.bias)))
    x = jax.random.normal(jax.random.key(1), (2 * TILE, 23))
    true = jax.grad(squares(lambda net, x: net(x)))(plain, x)
    by_xla = jax.grad(squares(lambda net, x: net(x)))(rounded, x)
    on_chip = jax.grad(squares(two_hidden))(weights, x)
    weights_of = [[layer.weight for layer in (*net.hidden, net.head)] for net in (by_xla, true)]
    for own, of_xla, right in zip(on_chip[::2], *weights_of, strict=True):
        assert off_by(own, right) <= 1.1 * off_by(of_xla, right)


def test_members_do_not_meet():
    """Under `vmap` each member has its own weights and rows, and what it comes to alone."""
    weights, x = network(7, 128, 2, 2), jax.random.normal(jax.random.key(2), (2, TILE, 7))
    gradient = jax.grad(squares(two_hidden))
    together = jax.vmap(gradient)(weights, x)
    for member in range(2):
        alone = gradient(Weights(*(leaf[member] for leaf in weights)), x[member])
        for own, found in zip(alone, together, strict=True):
            np.testing.assert_allclose(found[member], own, rtol=1e-5, atol=1e-6)


def test_rows_may_have_any_number_of_axes():
    weights, x = network(5, 128, 3), jax.random.normal(jax.random.key(3), (TILE // 8, 16, 5))
    y = two_hidden(weights, x)
    assert y.shape == (TILE // 8, 16, 3)
    np.testing.assert_array_equal(y.reshape(-1, 3), two_hidden(weights, x.reshape(-1, 5)))


def test_features_can_be_differentiated_too():
    weights, x = network(5, 128, 2), jax.random.normal(jax.random.key(4), (TILE, 5))
    found = jax.grad(squares(two_hidden), argnums=(0, 1))(weights, x)
    true = jax.grad(squares(exact), argnums=(0, 1))(weights, x)
    for own, right in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        assert off_by(own, right) < 0.05


def test_a_network_that_nothing_depends_on_has_no_gradient():
    weights, x = network(5, 128, 1), jnp.ones((TILE, 5))
    gradient = jax.grad(lambda w: 0.0 * w.b3.sum() + jax.lax.stop_gradient(two_hidden(w, x)).sum())(weights)
    assert all(not leaf.any() for leaf in gradient)


def test_only_what_there_are_kernels_for_goes_there(monkeypatch):
    x, w1, w3 = jnp.ones((TILE, 5)), jnp.ones((5, 256)), jnp.ones((256, 1))
    assert not applies(x, w1, w3)  # no GPU here
    monkeypatch.setattr(fused, "on_chip", lambda: True)
    assert applies(x, w1, w3)
    assert applies(x.reshape(2, -1, 5), w1, w3)
    for rows in (x[:-1], x[:0], x[0]):
        assert not applies(rows, w1, w3)
    assert not applies(x, jnp.ones((5, 64)), jnp.ones((64, 1)))
    assert not applies(jnp.ones((TILE, 64)), jnp.ones((64, 256)), w3)
    assert not applies(x, w1, jnp.ones((256, 65)))


@pytest.mark.parametrize("form", [{}, {"norm": True}, {"activation": "silu"}, {"depth": 3}, {"precision": "float32"}])
def test_a_network_of_the_right_form_alone_asks_for_them(monkeypatch, form):
    asked = []

    def kernels(weights: Weights, x: jax.Array) -> jax.Array:
        asked.append(x)
        return two_hidden(weights, x)

    monkeypatch.setattr(fused, "on_chip", lambda: True)
    monkeypatch.setattr(fused, "two_hidden", kernels)
    sizes = {"inputs": 5, "outputs": 1, "width": 128, "depth": 2, "precision": "bfloat16"}
    net = MLP(jax.random.key(0), **sizes | form)
    assert net(jnp.ones((TILE, 5))).shape == (TILE, 1)
    assert bool(asked) == (not form)


@pytest.mark.parametrize(("words", "number"), [("9.0", 9.0), ("8.0", 8.0), ("gfx90a", 0.0), ("", 0.0)])
def test_what_a_device_says_of_itself(words, number):
    assert fused._number(words) == number


def test_kernels_are_made_for_a_gpu_on_a_machine_without_one(monkeypatch):
    """Members of several policies. What Triton has no word for would show here; newer versions of JAX ask a real one
    first."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    weights, x = network(23, 256, 1, 2), jnp.ones((3, 2, TILE, 23))
    of_policies = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), weights)
    traced = jax.jit(jax.vmap(jax.vmap(jax.grad(squares(two_hidden))))).trace(of_policies, x)
    try:
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    except RuntimeError as refused:
        pytest.skip(str(refused))
    assert text.count("gpu.triton") == 2
