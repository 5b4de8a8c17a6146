"""The rows of a mini-batch: which they are, and what a member sees of them. The same in memory and streamed."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ropeval.data.transitions import Rows, Transitions
from ropeval.learning.learner import Learner
from ropeval.learning.resample import RowTable


def draw_rows(transitions: Transitions, table: RowTable | None, count: int, key: Array, segment: int = 1) -> Array:
    """[count] rows of a mini-batch: independent, uniform over the log or the member's resample, with replacement.

    With `segment` > 1, [count, segment]: each with those that follow it in its episode, so that every place of a
    segment is as evenly spread over the log as the first.
    """
    first = jax.random.randint(key, (count,), 0, transitions.size) if table is None else table.draw(count, key)
    return first if segment == 1 else followed(first, transitions.starts, segment)


def followed(first: Array, starts: Array, length: int) -> Array:
    """[count, length] rows from `first` [count] on; where its episode has no more, from that one's beginning."""
    after = jnp.searchsorted(starts, first, side="right")  # the episode that comes next
    begin, end = starts[after - 1], starts[after]  # [count]
    step = (first - begin)[:, None] + jnp.arange(length)[None]
    return begin[:, None] + step % (end - begin)[:, None]


def _own(transitions: Transitions, member: Array | None) -> Any:
    """The member's own encoder, or None. Where members are vectorised (`member` is None), it is all there is."""
    return transitions.nets if member is None else jax.tree.map(lambda a: a[member], transitions.nets)


def gather(transitions: Transitions, index: Array, member: Array | None) -> Rows:
    """The rows of a mini-batch. With `member`, features that lead with a member axis are read in place."""
    rows = transitions.rows
    if member is None or not transitions.per_member:
        batch = jax.tree.map(lambda a: a[index], rows)
        return encoded(batch, _own(transitions, member))
    return Rows(rows.x[member, index], rows.next_x[member, index], *jax.tree.map(lambda a: a[index], rows[2:]))


def encoded(batch: Rows, net: Any) -> Rows:
    """The same rows with the features that an encoder makes of theirs, if there is one."""
    return batch if net is None else batch._replace(x=net(batch.x), next_x=net(batch.next_x))


def draw_step(
    learner: Learner, transitions: Transitions, table: RowTable | None, key: Array, t: Array
) -> tuple[Array, Array]:
    """The rows that a member sees in step t, and what its learner may draw with."""
    draw, noise = step_keys(key, t)
    return draw_rows(transitions, table, learner.rows, draw, learner.segment), noise


def step_keys(key: Array, t: Array) -> tuple[Array, Array]:
    """What a member draws its rows with in step t, and what its learner may draw with."""
    draw, noise = jax.random.split(jax.random.fold_in(key, t))
    return draw, noise


def shown(transitions: Transitions, member: Array | None) -> Transitions:
    """What a member's probe looks at: its features, of all rows where they are stored."""
    if transitions.nets is not None:
        some, net = transitions.glance(), _own(transitions, member)
        return replace(some, rows=encoded(some.rows, net), initial_x=net(some.initial_x), nets=None)
    if member is not None and transitions.per_member:
        x, next_x, initial_x = (a[member] for a in (transitions.rows.x, transitions.rows.next_x, transitions.initial_x))
        rows = transitions.rows._replace(x=x, next_x=next_x)
        return replace(transitions, rows=rows, initial_x=initial_x, per_member=False)
    return transitions
