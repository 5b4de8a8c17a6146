"""How the members of a run are put on the machine: one core each, or all in one program; or several runs in one. The
numbers are the same, but for the rounding of matrix products."""

import math
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ropeval.arrays import Singles
from ropeval.data.transitions import Transitions
from ropeval.learning.batches import draw_step, gather, shown
from ropeval.learning.learner import Hyper, Learner, Metrics
from ropeval.learning.resample import RowTable, table_axes
from ropeval.runtime import RUNS_LONG, RUNS_OFTEN, RUNS_ONCE, cores

MOST_IN_A_ROW = 8  # chunks until members meet: nothing is saved or told of a curve before
AHEAD = 1 << 22  # rows of a member that are drawn before its steps, at most


def _train_chunk(
    learner: Learner,
    length: int,
    state: Any,
    key: Array,
    hyper: Hyper,
    start: Array,
    transitions: Transitions,
    table: RowTable | None,
    member: Array | None = None,
) -> tuple[Any, Metrics]:
    # All steps' rows at once, where that is not too many: a loop of small programs would wait for each draw on a GPU.
    ahead = length * learner.rows * learner.segment <= AHEAD
    drawn = partial(draw_step, learner, transitions, table, key)

    def step(state: Any, given: Any) -> tuple[Any, Metrics]:
        index, noise = given if ahead else drawn(given)
        return learner.update(state, gather(transitions, index, member), noise, hyper)

    times = start + jnp.arange(length)
    state, metrics = jax.lax.scan(step, state, jax.vmap(drawn)(times) if ahead else times, unroll=learner.turn)
    means = jax.tree.map(lambda values: values.mean(), metrics)
    return state, means | learner.probe(state, shown(transitions, member))


class Threads:
    """One core per member at a time. On a CPU this beat a batched program at every size that was measured."""

    def __init__(self, learner: Learner, transitions: Transitions, hyper: Hyper, keys: Array, table: RowTable | None):
        self.learner, self.hyper, self.keys = learner, hyper, keys
        self.members = _unstack((keys, hyper))
        self.seen = [transitions.seen_by(i) for i in range(len(keys))]
        self.tables = jax.device_put([None if table is None else table.of(i) for i in range(len(keys))])
        self._compiled: set[int] = set()  # lengths of chunks

    def init(self) -> list[Any]:
        # One by one, since batched products round differently; all of them as one program would take longer to compile.
        return [_init_of_one(self.learner, *own) for own in self.members]

    def unstack(self, runs: Sequence[Any]) -> list[Any]:
        """The states of the members one by one, as they are trained here; of the only run there is."""
        (state,) = runs
        return list(_unstack(state))

    def stack(self, states: list[Any]) -> list[Any]:
        """Of every run (here one) all states in one tree that leads with the member axis, as others see them."""
        return [_stack(states)]

    @property
    def in_a_row(self) -> int:
        """Chunks after which members meet, so that no core waits: five keep two cores busy over two, not over one."""
        members = len(self.keys)
        return 1 if members <= cores() else min(MOST_IN_A_ROW, cores() // math.gcd(members, cores()))

    def chunks(
        self, states: list[Any], start: int, length: int, done: Callable[[float], None], count: int = 1
    ) -> tuple[list[Any], list[list[dict[str, Singles]]]]:
        """`count` chunks of every member, each as soon as a core is free; and what is seen of every run after each."""
        members = len(states)
        work = [(chunk, i) for chunk in range(count) for i in range(members)]
        begun: dict[tuple[int, int], Future[Any]] = {}

        def one(chunk: int, i: int) -> Any:
            state = begun[chunk - 1, i].result()[0] if chunk else states[i]  # at work at least: it was begun before
            return jax.block_until_ready(self.chunk_of_one(i, state, start + chunk * length, length))

        pool = ThreadPoolExecutor(cores())
        try:
            # The first member compiles alone: two threads that read JAX's cache on disk at once were seen to crash it.
            alone = 0 if length in self._compiled else 1
            for some in (work[:alone], work[alone:]):
                for each in some:
                    begun[each] = pool.submit(one, *each)
                for each in some:
                    begun[each].result()
                    done((work.index(each) + 1) / len(work))
            self._compiled.add(length)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        seen = [[begun[chunk, i].result()[1] for i in range(members)] for chunk in range(count)]
        return [begun[count - 1, i].result()[0] for i in range(members)], [
            [{name: np.array([m[name] for m in metrics], np.float32) for name in metrics[0]}] for metrics in seen
        ]

    def chunk_of_one(self, i: int, state: Any, start: int, length: int) -> tuple[Any, Metrics]:
        """Member i, `length` steps on."""
        own = (state, *self.members[i], np.int32(start), self.seen[i], self.tables[i], np.int32(i))
        return _chunk_of_one(self.learner, length, *own)


class Vectorised:
    """All members in one program, sharded over the devices present."""

    in_a_row = 1  # they meet after every chunk: it is one for all

    def __init__(
        self,
        learner: Learner,
        transitions: Transitions,
        hyper: Hyper,
        keys: Array,
        table: RowTable | None,
        long: bool = False,
    ):
        """`long`: it trains for so long that a faster program is worth the time it takes to compile."""
        devices = jax.devices()
        # As many devices as divide the members evenly; a padded member would cost as much as a real one.
        count = max(d for d in range(1, len(devices) + 1) if len(keys) % d == 0)
        mesh = Mesh(np.array(devices[:count]), ("members",))
        whole = NamedSharding(mesh, PartitionSpec())
        # One device is not split: programs say so of what they give, and would be compiled anew for what is.
        self._split = NamedSharding(mesh, PartitionSpec("members")) if count > 1 else whole
        self.learner = learner
        self._chunk = _long_chunk_of_all if long else _chunk_of_all
        self.hyper, self.keys = jax.device_put((hyper, keys), self._split)
        placed = (transitions, table)
        placement = jax.tree.map(
            lambda axis: whole if axis is None else self._split,
            (transitions.axes, table_axes(table)),
            is_leaf=lambda a: a is None,
        )
        self.transitions, self.table = jax.device_put(placed, placement)

    def init(self) -> Any:
        return _init_of_all(self.learner, self.keys, self.hyper)

    def blank(self) -> Any:
        """What is laid out as `init` gives it, and says nothing: to compile with."""
        shapes = jax.eval_shape(jax.vmap(self.learner.init), self.keys, self.hyper)
        return self.unstack([jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)])

    def unstack(self, runs: Sequence[Any]) -> Any:
        (state,) = runs
        return jax.device_put(state, self._split)

    def stack(self, state: Any) -> list[Any]:
        return [state]

    def chunks(
        self, state: Any, start: int, length: int, done: Callable[[float], None], count: int = 1
    ) -> tuple[Any, list[list[dict[str, Singles]]]]:
        seen = []
        for begin in range(start, start + count * length, length):
            state, metrics = self._chunk(
                self.learner, length, state, self.keys, self.hyper, jnp.int32(begin), self.transitions, self.table
            )
            seen.append([{name: np.asarray(v) for name, v in metrics.items()}])
            done(len(seen) / count)
        return state, seen


class Together:
    """Several runs of one learner, each on a log of its own, all members of all of them in one program: few members
    alone leave most of a device idle. What the runs have in common, such as the logged pairs, lies there once."""

    in_a_row = 1

    def __init__(self, runs: Sequence[tuple[Learner, Transitions, Hyper, Array, RowTable | None]], long: bool = False):
        self.learner = runs[0][0]
        self._chunk = _long_chunk_of_runs if long else _chunk_of_runs
        self._members = [(keys, hyper) for _, _, hyper, keys, _ in runs]
        self.keys, self.hyper = _side_by_side(self._members)
        self._given, self._axes = _joined([(transitions, table) for _, transitions, _, _, table in runs])

    def init(self) -> Any:
        return _side_by_side([_init_of_all(self.learner, *own) for own in self._members])

    def unstack(self, states: Sequence[Any]) -> Any:
        """In one tree that leads with an axis of runs."""
        return _side_by_side(list(states))

    def stack(self, state: Any) -> list[Any]:
        """Every run's own."""
        return list(_unstack(state))

    def chunks(
        self, state: Any, start: int, length: int, done: Callable[[float], None], count: int = 1
    ) -> tuple[Any, list[list[dict[str, Singles]]]]:
        state, found = self._chunk(
            self.learner, length, self._axes, state, self.keys, self.hyper, jnp.int32(start), self._given
        )
        seen = {name: np.asarray(values) for name, values in found.items()}  # [runs, M] each
        done(1.0)
        return state, [[{name: values[run] for name, values in seen.items()} for run in range(len(self.keys))]]


def _joined(trees: Sequence[Any]) -> tuple[Any, tuple[int | None, ...]]:
    """One tree of what several hold, and for each of its leaves the axis of the runs: None where all hold the same."""
    leaves = list(zip(*map(jax.tree.leaves, trees), strict=True))
    axes = tuple(None if all(one is own[0] for one in own) else 0 for own in leaves)
    joined = [own[0] if axis is None else jnp.stack(own) for own, axis in zip(leaves, axes, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(trees[0]), jax.device_put(joined)), axes


@partial(jax.jit, static_argnums=0, compiler_options=RUNS_ONCE)
def _init_of_one(learner: Learner, key: Array, hyper: Hyper) -> Any:
    return learner.init(key, hyper)


@partial(jax.jit, static_argnums=0, compiler_options=RUNS_ONCE)
def _init_of_all(learner: Learner, keys: Array, hyper: Hyper) -> Any:
    # A copy of every leaf: initial targets are the parameters themselves, and one buffer may not be donated twice.
    return jax.tree.map(jnp.copy, jax.vmap(learner.init)(keys, hyper))


@jax.jit
def _unstack(tree: Any) -> list[Any]:
    members = len(jax.tree.leaves(tree)[0])
    return [jax.tree.map(operator.itemgetter(i), tree) for i in range(members)]


@jax.jit
def _side_by_side(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _stack(trees: list[Any]) -> Any:
    # On the host: a program would have to be compiled for networks of every shape.
    return jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *trees))


_chunk_of_one = jax.jit(_train_chunk, static_argnums=(0, 1))


def _all_members(
    learner: Learner,
    length: int,
    state: Any,
    keys: Array,
    hyper: Hyper,
    start: Array,
    transitions: Transitions,
    table: RowTable | None,
) -> tuple[Any, Metrics]:
    one = partial(_train_chunk, learner, length)
    in_axes = (0, 0, 0, None, transitions.axes, table_axes(table))
    return jax.vmap(one, in_axes=in_axes)(state, keys, hyper, start, transitions, table)


def _all_runs(
    learner: Learner,
    length: int,
    axes: tuple[int | None, ...],
    state: Any,
    keys: Array,
    hyper: Hyper,
    start: Array,
    given: tuple[Transitions, RowTable | None],
) -> tuple[Any, Metrics]:
    def run(state: Any, keys: Array, hyper: Hyper, given: tuple[Transitions, RowTable | None]) -> tuple[Any, Metrics]:
        return _all_members(learner, length, state, keys, hyper, start, *given)

    of_given = jax.tree.unflatten(jax.tree.structure(given), axes)
    return jax.vmap(run, in_axes=(0, 0, 0, of_given))(state, keys, hyper, given)


_of_all = partial(jax.jit, _all_members, static_argnums=(0, 1), donate_argnums=2)
_chunk_of_all, _long_chunk_of_all = (_of_all(compiler_options=options) for options in (RUNS_OFTEN, RUNS_LONG))
_of_runs = partial(jax.jit, _all_runs, static_argnums=(0, 1, 2), donate_argnums=3)
_chunk_of_runs, _long_chunk_of_runs = (_of_runs(compiler_options=options) for options in (RUNS_OFTEN, RUNS_LONG))
