"""Two hidden layers that stay on the chip, forwards and backwards, for many members at once on a GPU.

    h₁ = relu(x W₁ + b₁),   h₂ = relu(h₁ W₂ + b₂),   y = h₂ W₃ + b₃

XLA writes every hidden layer to memory and reads it again, which takes longer than computing it. Here a tile of rows
goes through all layers in one kernel. Factors of products are bfloat16 and sums float32; of the hidden layers, what the
gradient needs is written once. The product for ∂W₂ is left to XLA: it is one large matrix product already.

Kernels are Pallas's for Triton, which JAX says it will give up: where it is gone, networks run as they are written. On
a CPU they are interpreted, for tests alone.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Float

# Chosen among some twenty on an H200 (docs/results/speed.md).
TILE = 128  # rows that a program takes through the layers
CHUNK = 64  # of the hidden width, at a time
WARPS, STAGES = 8, 3
LEAST = 16  # rows and columns that a product on the chip has
WIDEST = 64  # inputs with their bias, and outputs
WIDTHS = (128, 256)  # of hidden layers
CAPABLE = 8.0  # the first GPUs that multiply bfloat16


class Weights(NamedTuple):
    """Of one network, in float32."""

    w1: Float[Array, "X W"]
    b1: Float[Array, " W"]
    w2: Float[Array, "W W"]
    b2: Float[Array, " W"]
    w3: Float[Array, "W d"]
    b3: Float[Array, " d"]


def applies(x: Float[Array, "*batch X"], w1: Float[Array, "X W"], w3: Float[Array, "W d"]) -> bool:
    """Whether kernels take networks of these sizes over these rows, on the device at hand."""
    rows, (inputs, width), outputs = math.prod(x.shape[:-1]), w1.shape, w3.shape[1]
    fits = width in WIDTHS and inputs < WIDEST and outputs <= WIDEST
    return x.ndim > 1 and rows > 0 and rows % TILE == 0 and fits and on_chip()


@functools.cache
def on_chip() -> bool:
    """Whether this is a GPU that can, and a JAX that has a way to it."""
    try:
        import jax.experimental.pallas.triton
    except ImportError:
        return False
    device = jax.devices()[0]
    return device.platform == "gpu" and _number(getattr(device, "compute_capability", "")) >= CAPABLE


def _number(words: str) -> float:
    """Of an NVIDIA GPU "9.0"; others name their architecture."""
    return float(words) if words.replace(".", "", 1).isdigit() else 0.0


def two_hidden(weights: Weights, x: Float[Array, "*n X"]) -> Float[Array, "*n d"]:
    """y of as many rows as fill tiles. Where it is differentiated in x, too, no kernel is asked."""
    y = _tiled(weights, x.reshape(-1, x.shape[-1]))
    return y.reshape(*x.shape[:-1], y.shape[-1])


# --- the kernels: one tile of rows, with a column of ones for the bias ------------------------------------------


def _forward(x_ref: Any, w1_ref: Any, w2_ref: Any, b2_ref: Any, w3_ref: Any, y_ref: Any, *kept: Any) -> None:
    from jax.experimental import pallas as pl

    x, width = x_ref[...], w2_ref.shape[1]

    def through(i: Array, sums: Array) -> Array:
        part = pl.ds(i * CHUNK, CHUNK)
        first = jnp.maximum(_product(x, w1_ref[:, part]), 0.0).astype(jnp.bfloat16)
        if kept:
            kept[0][:, part] = first
        return sums + _product(first, w2_ref[part, :])

    sums = jax.lax.fori_loop(0, width // CHUNK, through, jnp.zeros((x.shape[0], width), jnp.float32))
    second = jnp.maximum(sums + b2_ref[...][None], 0.0).astype(jnp.bfloat16)
    if kept:
        kept[1][...] = second
    y_ref[...] = _product(second, w3_ref[...])


def _backward(
    x_ref: Any, dy_ref: Any, h1_ref: Any, h2_ref: Any, w2_ref: Any, w3_ref: Any,
    dh2_ref: Any, dw1_ref: Any, db2_ref: Any, dw3_ref: Any,
) -> None:  # fmt: skip
    from jax.experimental import pallas as pl

    x, dy, second = x_ref[...], dy_ref[...], h2_ref[...]
    below = jnp.where(second > 0, _product(dy, w3_ref[...].T), 0.0).astype(jnp.bfloat16)
    dh2_ref[...] = below
    db2_ref[...] = _product(jnp.ones((LEAST, x.shape[0]), jnp.bfloat16), below)  # faster than a sum over rows
    dw3_ref[...] = _product(second.T, dy)

    def through(i: Array, _: None) -> None:
        part = pl.ds(i * CHUNK, CHUNK)
        lowest = jnp.where(h1_ref[:, part] > 0, _product(below, w2_ref[part, :].T), 0.0)
        dw1_ref[:, part] = _product(x.T, lowest.astype(jnp.bfloat16))

    jax.lax.fori_loop(0, w2_ref.shape[0] // CHUNK, through, None)


def _product(a: Array, b: Array) -> Array:
    return jnp.dot(a, b, preferred_element_type=jnp.float32)


# --- how they are called ------------------------------------------------------------------------------------------


def _call(kernel: Any, tiled: Sequence[Array], whole: Sequence[Array], rows: Sequence[Any], own: Sequence[Any]) -> Any:
    """The kernel on every tile of what is `tiled`; it makes arrays that go by `rows`, too, and those of its `own`."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    def block(a: Any, first: int | None) -> Any:
        """Of the first axis, `first` entries to each tile (None: one, whose axis goes)."""
        return pl.BlockSpec((first, *a.shape[1:]), lambda i: (i, *[0] * (len(a.shape) - 1)))

    return pl.pallas_call(
        kernel,
        grid=(len(tiled[0]) // TILE,),
        in_specs=[block(a, TILE) for a in tiled]
        + [pl.BlockSpec(a.shape, lambda _, axes=a.ndim: (0,) * axes) for a in whole],
        out_specs=[block(a, TILE) for a in rows] + [block(a, None) for a in own],
        out_shape=[*rows, *own],
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=STAGES),
        interpret=jax.default_backend() != "gpu",
    )(*tiled, *whole)


def _padded(size: int) -> int:
    """A power of two, as kernels want it."""
    return max(LEAST, 1 << (size - 1).bit_length())


def _wide(a: Float[Array, "n m"], rows: int, columns: int) -> Array:
    """In bfloat16, with zeros below and to the right."""
    return jnp.pad(a.astype(jnp.bfloat16), ((0, rows - a.shape[0]), (0, columns - a.shape[1])))


class _Kept(NamedTuple):
    """What the gradient needs."""

    x: Array  # [n, X'] with its ones and zeros
    h1: Array  # [n, W]
    h2: Array  # [n, W]
    w2: Array  # [W, W]
    w3: Array  # [W, d']


def _run(weights: Weights, x: Array, keep: bool) -> tuple[Array, _Kept | None]:
    (rows, inputs), (width, outputs) = x.shape, weights.w3.shape
    wide = _padded(inputs + 1)
    w1 = _wide(jnp.concatenate([weights.w1, weights.b1[None]]), wide, width)
    w2, w3 = weights.w2.astype(jnp.bfloat16), _wide(weights.w3, width, _padded(outputs))
    x = _wide(jnp.concatenate([x, jnp.ones((rows, 1), x.dtype)], axis=1), rows, wide)
    made = [jax.ShapeDtypeStruct((rows, w3.shape[1]), jnp.float32)]
    made += [jax.ShapeDtypeStruct((rows, width), jnp.bfloat16)] * (2 * keep)
    y, *hidden = _call(_forward, [x], [w1, w2, weights.b2, w3], made, [])
    return y[:, :outputs] + weights.b3[None], _Kept(x, hidden[0], hidden[1], w2, w3) if keep else None


@jax.custom_vjp
def _tiled(weights: Weights, x: Float[Array, "n X"]) -> Float[Array, "n d"]:
    return _run(weights, x, keep=False)[0]


def _layer_by_layer(weights: Weights, x: Float[Array, "n X"]) -> Float[Array, "n d"]:
    for w, b in ((weights.w1, weights.b1), (weights.w2, weights.b2)):
        x = jax.nn.relu(_product(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)) + b[None])
    return _product(x.astype(jnp.bfloat16), weights.w3.astype(jnp.bfloat16)) + weights.b3[None]


def _with_kept(weights: Any, x: Any) -> tuple[Array, Any]:
    given = Weights(*(leaf.value for leaf in weights))
    if x.perturbed:
        return jax.vjp(_layer_by_layer, given, x.value)
    y, kept = _run(given, x.value, keep=True)
    return y, (kept, x.value)


def _gradient(residuals: Any, dy: Any) -> tuple[Weights, Array]:
    if isinstance(dy, SymbolicZero):
        dy = jnp.zeros(dy.shape, dy.dtype)
    if callable(residuals):
        return residuals(dy)
    kept, features = residuals
    (tall, inputs), (width, wide), outputs = features.shape, kept.w3.shape, dy.shape[1]
    sums = [
        jax.ShapeDtypeStruct((tall // TILE, *shape), jnp.float32)
        for shape in ((kept.x.shape[1], width), (LEAST, width), (width, wide))
    ]
    tiled = [kept.x, _wide(dy, tall, wide), kept.h1, kept.h2]
    dh2, *of_tiles = _call(
        _backward, tiled, [kept.w2, kept.w3], [jax.ShapeDtypeStruct((tall, width), jnp.bfloat16)], sums
    )
    dw1, db2, dw3 = (each.sum(axis=0) for each in of_tiles)
    dw2 = jnp.matmul(kept.h1.T, dh2, preferred_element_type=jnp.float32)
    return Weights(dw1[:inputs], dw1[inputs], dw2, db2[0], dw3[:, :outputs], dy.sum(axis=0)), jnp.zeros_like(features)


_tiled.defvjp(_with_kept, _gradient, symbolic_zeros=True)
