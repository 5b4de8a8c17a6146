"""What the engine trains."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jax import Array

from ropeval.data.transitions import Rows, Transitions

Hyper = dict[str, Array]  # per-member scalars, [M] each outside and [] inside a learner
Metrics = dict[str, Array]


class Learner(NamedTuple):
    """What the engine trains. All functions see one member; they are pure, so they can be compiled and vmapped."""

    init: Callable[[Array, Hyper], Any]  # key, hyper -> state
    update: Callable[[Any, Rows, Array, Hyper], tuple[Any, Metrics]]  # state, batch, key, hyper -> state, metrics
    probe: Callable[[Any, Transitions], Metrics]  # what the curves show after each chunk
    rows: int  # drawn per update, independently and uniformly, with replacement
    segment: int = 1  # each begins so many that follow each other in its episode: [rows, segment, …] if > 1
