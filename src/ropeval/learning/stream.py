"""Training on a log that is larger than memory: the rows of the coming steps are gathered on the host, then scanned.

The rows are those that the engine would draw: same keys, same indices, same bits. Members run side by side in
threads, on any device. An encoder that belongs to a member is applied to every batch as it comes, since the features
of all rows, for all members, would be many times as large as the log, and training usually sees fewer rows than that.
"""

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.data.transitions import Rows, Transitions
from ropeval.learning.arrangements import Threads
from ropeval.learning.batches import draw_step, encoded, shown, step_keys
from ropeval.learning.learner import Hyper, Learner, Metrics
from ropeval.learning.resample import RowTable

PIECE = 1 << 26  # bytes of features gathered at a time, by every member that is being trained


class Streamed(Threads):
    """One core per member at a time, as in memory; a chunk is taken in pieces that are gathered first."""

    def __init__(self, learner: Learner, transitions: Transitions, hyper: Hyper, keys: Array, table: RowTable | None):
        rows = transitions.rows
        x, next_x, initial_x = (jnp.zeros((0, *a.shape[1:])) for a in (rows.x, rows.next_x, transitions.initial_x))
        # What compiled programs may have of it: everything but the features.
        bare = Rows(x, next_x, *jax.tree.map(jnp.asarray, rows[2:]))
        shell = replace(transitions, rows=bare, initial_x=initial_x)
        super().__init__(learner, shell, hyper, keys, table)
        self._features = rows.x, rows.next_x
        some = transitions.glance()
        self._shown = replace(some, rows=jax.tree.map(jnp.asarray, some.rows), initial_x=jnp.asarray(some.initial_x))
        per_step = 4 * learner.rows * learner.segment * (math.prod(rows.x.shape[1:]) + math.prod(rows.next_x.shape[1:]))
        self._longest = max(1, PIECE // per_step)

    def chunk_of_one(self, i: int, state: Any, start: int, length: int) -> tuple[Any, Metrics]:
        pieces = -(-length // self._longest)
        ends = np.linspace(0, length, pieces + 1).astype(int)
        own, member = self.members[i], jnp.int32(i)
        seen = []
        for first, last in pairwise(ends):
            begin = jnp.int32(start + int(first))
            index = _indices(self.learner, int(last - first), own[0], begin, self.seen[i], self.tables[i])
            x, next_x = (self._gathered(column, np.asarray(index)) for column in self._features)
            state, metrics = _train_piece(self.learner, state, *own, begin, index, x, next_x, self.seen[i], member)
            seen.append(metrics)
        return state, _summary(self.learner, state, seen, self._shown, member)

    @staticmethod
    def _gathered(column: Any, index: Any) -> Any:
        return column[index.reshape(-1)].reshape(*index.shape, *column.shape[1:])


@partial(jax.jit, static_argnums=(0, 1))
def _indices(
    learner: Learner, length: int, key: Array, start: Array, shell: Transitions, table: RowTable | None
) -> Array:
    """[length, rows] or [length, rows, segment]: what the engine would draw in these steps."""
    drawn = partial(draw_step, learner, shell, table, key)
    return jax.vmap(lambda t: drawn(t)[0])(start + jnp.arange(length))


@partial(jax.jit, static_argnums=0)
def _train_piece(
    learner: Learner,
    state: Any,
    key: Array,
    hyper: Hyper,
    start: Array,
    index: Array,
    x: Array,
    next_x: Array,
    shell: Transitions,
    member: Array,
) -> tuple[Any, Metrics]:
    net = jax.tree.map(lambda a: a[member], shell.nets)

    def step(state: Any, given: tuple[Array, Array, Array, Array]) -> tuple[Any, Metrics]:
        t, rows, x, next_x = given
        batch = Rows(x, next_x, *jax.tree.map(lambda a: a[rows], shell.rows[2:]))
        return learner.update(state, encoded(batch, net), step_keys(key, t)[1], hyper)

    return jax.lax.scan(step, state, (start + jnp.arange(len(index)), index, x, next_x))


@partial(jax.jit, static_argnums=0)
def _summary(learner: Learner, state: Any, seen: list[Metrics], some: Transitions, member: Array) -> Metrics:
    """What the engine records after a chunk."""
    means = jax.tree.map(lambda *values: jnp.concatenate(values).mean(), *seen)
    return means | learner.probe(state, shown(some, member))
