"""The fused kernels compute what the plain network computes. Interpreted here: the kernels' code, without a GPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.learning import fused
from ropeval.learning.networks import MLP

TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}


def network(seed: int, inputs: int, outputs: int) -> MLP:
    net = MLP(jax.random.key(seed), inputs, outputs, 128, 2)
    biases = iter(jax.random.split(jax.random.key(seed + 1), 8))  # zero at first: they would not be tested
    return jax.tree.map(lambda a: a + 0.1 * jax.random.normal(next(biases), a.shape) if a.ndim == 1 else a, net)


def fused_output(net: MLP, x: jax.Array) -> jax.Array:
    first, second = net.hidden
    weights = (first.weight, first.bias, second.weight, second.bias, net.head.weight, net.head.bias)
    return fused.apply(x, weights, True)


@pytest.mark.skipif(fused.triton is None, reason="this JAX has no Triton kernels")
@settings(max_examples=6, deadline=None)
@given(st.integers(0, 99), st.sampled_from([1, 5, 23, 40]), st.sampled_from([1, 2, 11]), st.sampled_from([128, 256]))
def test_outputs_and_gradients_are_those_of_the_plain_network(seed: int, inputs: int, outputs: int, rows: int) -> None:
    net = network(seed, inputs, outputs)
    x = jax.random.normal(jax.random.key(seed + 2), (rows, inputs))
    weight = jax.random.normal(jax.random.key(seed + 3), (rows, outputs))

    def objective(net: MLP, apply: object) -> jax.Array:
        return (jnp.sin(apply(net, x)) * weight).sum()  # type: ignore[operator]

    np.testing.assert_allclose(fused_output(net, x), net(x), **TOLERANCE)
    ours = jax.grad(objective)(net, fused_output)
    plain = jax.grad(objective)(net, lambda net, x: net(x))
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(fused.triton is None, reason="this JAX has no Triton kernels")
def test_members_do_not_mix() -> None:
    nets = [network(seed, 7, 3) for seed in (0, 10, 20)]
    x = jax.random.normal(jax.random.key(1), (3, 128, 7))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *nets)
    together = jax.vmap(fused_output)(stacked, x)
    for place, net in enumerate(nets):
        np.testing.assert_allclose(together[place], net(x[place]), **TOLERANCE)


def test_other_machines_and_other_networks_take_the_plain_way() -> None:
    net = network(0, 7, 3)
    x = jax.random.normal(jax.random.key(1), (256, 7))
    assert not fused.available() or jax.default_backend() == "gpu"
    np.testing.assert_allclose(net.on_data(x), net(x), **TOLERANCE)
    assert fused.fits(7, 128, 3, 256)
    assert not fused.fits(7, 100, 3, 256)  # a width that tiles do not divide
    assert not fused.fits(393, 256, 3, 256)  # too many inputs to hold on the chip
    assert not fused.fits(7, 128, 3, 100)  # a mini-batch that tiles do not divide
