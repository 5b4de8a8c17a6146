"""Networks and their initialisation. Everything here takes one example; the caller vmaps it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from ropeval.learning import fused

LAYER_NORM_EPS = 1e-5
_POLAR_STEPS = 48  # a singular value of 1e-7 still grows to 1


def gaussian(keys: Array, shapes: Sequence[tuple[int, int]]) -> list[Float[Array, "..."]]:
    """Normal numbers of variance ½, a matrix of every key.

    Of all that makes a network, drawing takes longest to compile. So all are drawn at once, from each key as many as
    the largest matrix needs: the first ones are the same, however many JAX is asked for.
    """
    above = np.nextafter(np.float32(-1.0), np.float32(0.0))  # where erf⁻¹ is still a number, as in `jax.random.normal`
    most = max(map(math.prod, shapes))
    drawn = jax.vmap(lambda key: jax.lax.erf_inv(jax.random.uniform(key, (most,), minval=above, maxval=1.0)))(keys)
    return [own[: math.prod(shape)].reshape(shape) for own, shape in zip(drawn, shapes, strict=True)]


@jax.jit
def orthogonal(drawn: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Of a matrix of `gaussian`, one with orthonormal rows or columns (whichever are fewer), uniformly distributed.

    It is the polar factor, by Newton–Schulz. A QR factorisation would do the same, but batched LAPACK calls inside a
    compiled program can deadlock on machines with few cores (seen with jaxlib 0.10.2 on two), and matrix products run
    well everywhere.
    """
    rows, columns = drawn.shape
    matrix = drawn * math.sqrt(2.0) / (math.sqrt(rows) + math.sqrt(columns))  # singular values ≲ 1

    def step(_: Array, w: Array) -> Array:
        gram = _product(w, w.T) if rows <= columns else _product(w.T, w)
        correction = _product(gram, w) if rows <= columns else _product(w, gram)
        return 1.5 * w - 0.5 * correction

    return jax.lax.fori_loop(0, _POLAR_STEPS, step, matrix)


def _product(a: Float[Array, "n k"], b: Float[Array, "k m"]) -> Float[Array, "n m"]:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def layer_norm(x: Float[Array, "*batch d"], used: Bool[Array, " d"] | None = None) -> Float[Array, "*batch d"]:
    """Zero mean and unit variance over the last axis, or over its entries in `used`; the others are 0 then."""
    if used is None:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + LAYER_NORM_EPS)
    weight, count = used.astype(x.dtype), jnp.maximum(used.sum(), 1)
    mask = _for_each_row(weight, x)
    centred = (x - (x * mask).sum(axis=-1, keepdims=True) / count) * mask
    return centred * jax.lax.rsqrt((centred**2).sum(axis=-1, keepdims=True) / count + LAYER_NORM_EPS)


def _for_each_row(vector: Float[Array, " d"], rows: Float[Array, "*batch any"]) -> Float[Array, "*ones d"]:
    """The vector, shaped to meet the rows: broadcasting is said, never left to chance."""
    return vector.reshape((1,) * (rows.ndim - 1) + vector.shape)


class Linear(eqx.Module):
    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, drawn: Float[Array, "inputs outputs"]):
        """From a matrix of `gaussian`."""
        self.weight = orthogonal(drawn)
        self.bias = jnp.zeros(drawn.shape[1])

    def __call__(self, x: Float[Array, "*batch inputs"], exact: bool = False) -> Float[Array, "*batch outputs"]:
        """In the precision of x; `exact`: the result in the parameters' own."""
        weight = self.weight.astype(x.dtype)
        if exact:
            return jnp.matmul(x, weight, preferred_element_type=self.bias.dtype) + _for_each_row(self.bias, x)
        return x @ weight + _for_each_row(self.bias.astype(x.dtype), x)


class Norm(eqx.Module):
    """Layer normalisation with a learned scale and shift."""

    scale: Float[Array, " d"]
    shift: Float[Array, " d"]

    def __init__(self, size: int):
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)

    def __call__(self, x: Float[Array, "*batch d"], used: Bool[Array, " d"] | None = None) -> Float[Array, "*batch d"]:
        scale, shift = (_for_each_row(own.astype(x.dtype), x) for own in (self.scale, self.shift))
        result = layer_norm(x, used) * scale + shift
        return result if used is None else result * _for_each_row(used.astype(x.dtype), x)


Precision = Literal["float32", "bfloat16"]
# Updates in a turn of the loop: among several, XLA rounds new weights in the pass that makes them, and not in the next.
TURNS: dict[Precision, int] = {"float32": 1, "bfloat16": 4}
Activation = Literal["relu", "silu"]
ACTIVATIONS = {"relu": jax.nn.relu, "silu": jax.nn.silu}


class MLP(eqx.Module):
    """`depth` layers of `width` (ReLU, if nothing else is said) and a linear head; orthogonal weights, zero biases.

    With `precision` bfloat16, hidden layers are half as long in memory; parameters and the output stay what they are.
    """

    hidden: list[Linear]
    norms: list[Norm]  # one per hidden layer, or none
    head: Linear
    activation: Activation = eqx.field(static=True)
    precision: Precision = eqx.field(static=True)

    def __init__(
        self,
        key: Array,
        inputs: int,
        outputs: int,
        width: int,
        depth: int,
        norm: bool = False,
        activation: Activation = "relu",
        precision: Precision = "float32",
    ):
        sizes = [inputs, *[width] * depth, outputs]
        *self.hidden, self.head = map(Linear, gaussian(jax.random.split(key, depth + 1), list(pairwise(sizes))))
        self.norms = [Norm(width) for _ in range(depth)] if norm else []
        self.activation, self.precision = activation, precision

    def _on_chip(self, x: Float[Array, "*batch inputs"]) -> bool:
        """Whether there are kernels for a network of this form, and for so many rows."""
        form = len(self.hidden) == 2 and self.activation == "relu" and not self.norms
        return form and fused.applies(x, self.hidden[0].weight, self.head.weight)

    def __call__(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        if self.precision == "bfloat16":
            if self._on_chip(x):
                layers = (*self.hidden, self.head)
                return fused.two_hidden(fused.Weights(*(a for own in layers for a in (own.weight, own.bias))), x)
            x = x.astype(jnp.bfloat16)
        for place, layer in enumerate(self.hidden):
            x = layer(x)
            if self.norms:
                x = self.norms[place](x)
            x = ACTIVATIONS[self.activation](x)
        return self.head(x, exact=True)
