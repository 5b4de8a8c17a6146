"""Features made on the host and put where JAX computes, block by block: whole, a long log's would take more of the
host's memory than all else together, and for a moment twice that."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ropeval.arrays import Singles
from ropeval.blocks import in_order
from ropeval.data.streaming import Gathered
from ropeval.runtime import RUNS_ONCE

PLACED = 1 << 24  # bytes at a time
WHOLE = 4  # times that: what is smaller goes as it is, and needs no program


def placed(features: Gathered) -> jax.Array:
    """All of them. The last block begins early enough to be as long as the others: one program serves all."""
    size = 4 * int(np.prod(features.shape[1:]))
    if len(features) * size <= WHOLE * PLACED:
        return jax.device_put(features[:])
    rows = max(1, PLACED // size)
    firsts = [min(start, len(features) - rows) for start in range(0, len(features), rows)]
    held, sent = _room(features.shape), None
    made = in_order(lambda first: features[first : first + rows], firsts)
    for first, block in zip(firsts, made, strict=True):
        if sent is not None:
            sent.block_until_ready()  # on the way is one at a time, or many would wait on the host
        sent = jax.device_put(block)
        held = _filled(held, sent, np.int32(first))
    return held


@partial(jax.jit, static_argnums=0, compiler_options=RUNS_ONCE)
def _room(shape: tuple[int, ...]) -> jax.Array:
    return jnp.zeros(shape, jnp.float32)


@partial(jax.jit, donate_argnums=0, compiler_options=RUNS_ONCE)
def _filled(held: jax.Array, block: jax.Array | Singles, first: jax.Array | np.int32) -> jax.Array:
    """In place: the room is given away."""
    return jax.lax.dynamic_update_slice_in_dim(held, block, first, axis=0)
