"""Two hidden layers in one GPU kernel: what passes between the layers stays on the chip.

With many members, a training step spends most of its time carrying activations to memory and back. The kernels here
compute a network's output tile by tile of rows and write nothing else; the backward kernel computes the hidden layers
again, which costs less than reading them, and leaves only what the largest weight gradient needs. The numbers are
those of the plain network up to rounding (the products are TF32 in both).

Used by itself where it was measured to pay: one NVIDIA GPU of compute capability 9.0 (H100, H200), two ReLU layers
without normalisation, few inputs and outputs. Everywhere else, and for everything else, the plain network is used.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl

try:
    from jax.experimental.pallas import triton
except ImportError:  # JAX has announced that it will go; the plain network stays
    triton = None  # type: ignore[assignment]


class Tile(NamedTuple):
    """How a kernel is cut; measured on an H200."""

    rows: int  # of the mini-batch, per program
    columns: int  # of the first hidden layer at a time
    warps: int
    stages: int


FORWARD, BACKWARD = Tile(128, 32, 8, 3), Tile(64, 32, 4, 2)
MEASURED_ON = "9.0"
WIDTHS = (128, 256)
MOST_PORTS = 64  # inputs or outputs

Weights = tuple[Array, Array, Array, Array, Array, Array]  # w1 [X, H], b1 [H], w2 [H, H], b2 [H], w3 [H, O], b3 [O]


@cache
def available() -> bool:
    """Whether this machine is one that the kernels were measured on."""
    if triton is None or jax.default_backend() != "gpu" or len(jax.devices()) > 1:
        return False
    return getattr(jax.devices()[0], "compute_capability", None) == MEASURED_ON


def fits(inputs: int, width: int, outputs: int, rows: int) -> bool:
    """Whether the kernels can take a network and a mini-batch of this size."""
    return width in WIDTHS and max(inputs, outputs) <= MOST_PORTS and rows > 0 and rows % FORWARD.rows == 0


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def apply(x: Array, weights: Weights, interpret: bool = False) -> Array:
    """[n, O] outputs of rows [n, X] of data. Gradients flow to the weights, never to the data."""
    return _forward(x, weights, interpret) + weights[5][None]


def _remember(x: Array, weights: Weights, interpret: bool) -> tuple[Array, tuple[Array, Weights]]:
    return apply(x, weights, interpret), (x, weights)


def _pull_back(interpret: bool, seen: tuple[Array, Weights], dy: Array) -> tuple[Array, Weights]:
    x, weights = seen
    return jnp.zeros_like(x), _backward(x, weights, dy, interpret)


apply.defvjp(_remember, _pull_back)


# --- the kernels ----------------------------------------------------------------------------------------------


def _call(kernel: Any, name: str, shapes: Any, tile: Tile, programs: int, interpret: bool) -> Any:
    params = triton.CompilerParams(num_warps=tile.warps, num_stages=tile.stages)
    grid = (programs,)
    return pl.pallas_call(kernel, out_shape=shapes, grid=grid, compiler_params=params, interpret=interpret, name=name)


def _forward(x: Array, weights: Weights, interpret: bool) -> Array:
    """Without the last bias."""
    w1, b1, w2, b2, w3, _ = weights
    (rows, inputs), (width, outputs), tile = x.shape, w3.shape, FORWARD
    wide_in, wide_out = _power_of_two(inputs), _power_of_two(outputs)

    def kernel(x_ref: Any, w1_ref: Any, b1_ref: Any, w2_ref: Any, b2_ref: Any, w3_ref: Any, y_ref: Any) -> None:
        here = pl.ds(pl.program_id(0) * tile.rows, tile.rows)
        x = _load(x_ref, here, wide_in, inputs)

        def layer(k: Array, total: Array) -> Array:
            at = pl.ds(k * tile.columns, tile.columns)
            return total + jnp.dot(_hidden(x, w1_ref, b1_ref, at, tile.columns, inputs), _second(w2_ref, at))

        start = jnp.zeros((tile.rows, width), jnp.float32)
        hidden = jax.lax.fori_loop(0, width // tile.columns, layer, start)
        hidden = jnp.maximum(hidden + b2_ref[...][None, :], 0.0)
        if outputs == 1:
            triton.store(y_ref.at[here], jnp.sum(hidden * w3_ref[...][None, :], axis=1))
        else:
            _store(y_ref, here, jnp.dot(hidden, _load(w3_ref, pl.ds(0, width), wide_out, outputs)), outputs)

    shape = _floats(rows) if outputs == 1 else _floats(rows, outputs)
    y = _call(kernel, "mlp_forward", shape, tile, rows // tile.rows, interpret)(
        x, w1, b1, w2.T, b2, w3[:, 0] if outputs == 1 else w3
    )
    return y[:, None] if outputs == 1 else y


def _backward(x: Array, weights: Weights, dy: Array, interpret: bool) -> Weights:
    """The gradient of Σ y·dy. Each program leaves its share of the small gradients; they are added up outside."""
    w1, b1, w2, b2, w3, _ = weights
    (rows, inputs), (width, outputs), tile = x.shape, w3.shape, BACKWARD
    wide_in, wide_out = _power_of_two(inputs), _power_of_two(outputs)
    programs = rows // tile.rows

    def kernel(
        x_ref: Any, w1_ref: Any, b1_ref: Any, w2_ref: Any, turned_ref: Any, b2_ref: Any, w3_ref: Any, dy_ref: Any,
        h1_ref: Any, dz2_ref: Any, dw1_ref: Any, db1_ref: Any, db2_ref: Any, dw3_ref: Any,
    ) -> None:  # fmt: skip
        program = pl.program_id(0)
        here, mine = pl.ds(program * tile.rows, tile.rows), pl.ds(program, 1)
        x = _load(x_ref, here, wide_in, inputs)

        def layer(k: Array, total: Array) -> Array:
            at = pl.ds(k * tile.columns, tile.columns)
            hidden = _hidden(x, w1_ref, b1_ref, at, tile.columns, inputs)
            triton.store(h1_ref.at[here, at], hidden)
            return total + jnp.dot(hidden, _second(turned_ref, at))

        start = jnp.zeros((tile.rows, width), jnp.float32)
        z2 = jax.lax.fori_loop(0, width // tile.columns, layer, start) + b2_ref[...][None, :]
        hidden = jnp.maximum(z2, 0.0)
        if outputs == 1:
            dy = triton.load(dy_ref.at[here])[:, None]
            dz2 = jnp.where(z2 > 0.0, dy * w3_ref[...][None, :], 0.0)
            triton.store(dw3_ref.at[mine, :], jnp.sum(hidden * dy, axis=0)[None])
        else:
            dy = _load(dy_ref, here, wide_out, outputs)
            dz2 = jnp.where(z2 > 0.0, jnp.dot(dy, _load(w3_ref, pl.ds(0, width), wide_out, outputs).T), 0.0)
            _store(dw3_ref, pl.ds(program * width, width), jnp.dot(hidden.T, dy), outputs)
        triton.store(dz2_ref.at[here, :], dz2)
        triton.store(db2_ref.at[mine, :], jnp.sum(dz2, axis=0)[None])

        def layer_back(k: Array, nothing: Array) -> Array:
            at = pl.ds(k * tile.columns, tile.columns)
            dh1 = jnp.dot(dz2, triton.load(w2_ref.at[at, :]).T)
            dz1 = jnp.where(_hidden(x, w1_ref, b1_ref, at, tile.columns, inputs) > 0.0, dh1, 0.0)
            triton.store(db1_ref.at[mine, at], jnp.sum(dz1, axis=0)[None])
            triton.store(dw1_ref.at[pl.ds(program * wide_in, wide_in), at], jnp.dot(x.T, dz1))
            return nothing

        jax.lax.fori_loop(0, width // tile.columns, layer_back, 0)

    shares = _floats(programs, width)
    shapes = [
        _floats(rows, width),
        _floats(rows, width),
        _floats(programs * wide_in, width),
        shares,
        shares,
        shares if outputs == 1 else _floats(programs * width, outputs),
    ]
    h1, dz2, dw1, db1, db2, dw3 = _call(kernel, "mlp_backward", shapes, tile, programs, interpret)(
        x, w1, b1, w2, w2.T, b2, w3[:, 0] if outputs == 1 else w3, dy[:, 0] if outputs == 1 else dy
    )
    return (
        dw1.reshape(programs, wide_in, width).sum(axis=0)[:inputs],
        db1.sum(axis=0),
        h1.T @ dz2,
        db2.sum(axis=0),
        dw3.sum(axis=0)[:, None] if outputs == 1 else dw3.reshape(programs, width, outputs).sum(axis=0),
        dy.sum(axis=0),
    )


# --- inside the kernels ---------------------------------------------------------------------------------------


def _hidden(x: Array, w1_ref: Any, b1_ref: Any, at: Any, columns: int, inputs: int) -> Array:
    """Some columns of the first hidden layer."""
    used = jnp.broadcast_to((jnp.arange(x.shape[1]) < inputs)[:, None], (x.shape[1], columns))
    w1 = triton.load(w1_ref.at[pl.ds(0, x.shape[1]), at], mask=used, other=0.0)
    return jnp.maximum(jnp.dot(x, w1) + triton.load(b1_ref.at[at])[None, :], 0.0)


def _second(turned_ref: Any, at: Any) -> Array:
    """Some rows of w2, read from its transpose: Hopper's TF32 products want their inner axis contiguous."""
    return triton.load(turned_ref.at[:, at]).T


def _load(ref: Any, rows: Any, wide: int, used: int) -> Array:
    """Rows of a matrix with `used` columns, as `wide` columns: kernels compute with powers of two."""
    mask = jnp.broadcast_to((jnp.arange(wide) < used)[None, :], (rows.size, wide))
    return triton.load(ref.at[rows, pl.ds(0, wide)], mask=mask, other=0.0)


def _store(ref: Any, rows: Any, values: Array, used: int) -> None:
    mask = jnp.broadcast_to((jnp.arange(values.shape[1]) < used)[None, :], values.shape)
    triton.store(ref.at[rows, pl.ds(0, values.shape[1])], values, mask=mask)


def _floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _power_of_two(size: int) -> int:
    """At least 16, which is the least that tensor cores multiply."""
    return max(16, 1 << (size - 1).bit_length())
