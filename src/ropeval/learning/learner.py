"""What the engine trains."""

from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

from jax import Array

from ropeval.data.transitions import Rows, Transitions

Hyper = dict[str, Array]  # per-member scalars, [M] each outside and [] inside a learner
Metrics = dict[str, Array]
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Learner(NamedTuple):
    """What the engine trains. All functions see one member; they are pure, so they can be compiled and vmapped."""

    init: Callable[[Array, Hyper], Any]  # key, hyper -> state
    update: Callable[[Any, Rows, Array, Hyper], tuple[Any, Metrics]]  # state, batch, key, hyper -> state, metrics
    probe: Callable[[Any, Transitions], Metrics]  # what the curves show after each chunk
    rows: int  # drawn per update, independently and uniformly, with replacement
    segment: int = 1  # each begins so many that follow each other in its episode: [rows, segment, …] if > 1
    turn: int = 1  # updates that one turn of the compiled loop makes


def made_once(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """The same settings give the very same learner, also to threads that ask at the same time: programs are compiled
    for a learner, and another one that is alike would be compiled again."""
    cached: Callable[..., Made] = lru_cache(maxsize=64)(make)
    lock = Lock()

    @wraps(make)
    def ask(*settings: Given.args, **named: Given.kwargs) -> Made:
        with lock:
            return cached(*settings, **named)

    return ask
