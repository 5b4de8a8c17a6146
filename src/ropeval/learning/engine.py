"""The training loop: `scan` over steps, all members at once, in chunks.

After each chunk the engine records what the learner shows of itself, marks members that diverged, writes a
checkpoint and reports progress. Step t of a member depends only on that member's key, t and the data: not on the
chunk length, on the other members, or on how the members are arranged over cores and devices.
"""

import operator
import os
import time
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from ropeval.data.transitions import Rows, Transitions
from ropeval.learning.batches import draw_rows, gather, shown, step_keys
from ropeval.learning.checkpoint import Checkpoint, Snapshot
from ropeval.learning.resample import Counts, Resamples, RowTable, row_table, table_axes

Hyper = dict[str, Array]  # per-member scalars, [M] each outside and [] inside a learner
Metrics = dict[str, Array]
MIN_CHUNK, MAX_CHUNK = 10, 1_000
CURVE_POINTS = 50
DIVERGED_AT_BOUNDS = 10.0  # an estimate beyond so many times the reward bound is nonsense, not optimism
CHECKPOINT_SHARE = 0.1  # of the time, at most, goes into writing checkpoints


class Learner(NamedTuple):
    """What the engine trains. All functions see one member; they are pure, so they can be compiled and vmapped."""

    init: Callable[[Array, Hyper], Any]  # key, hyper -> state
    update: Callable[[Any, Rows, Array, Hyper], tuple[Any, Metrics]]  # state, batch, key, hyper -> state, metrics
    probe: Callable[[Any, Transitions], Metrics]  # what the curves show after each chunk
    rows: int  # drawn per update, independently and uniformly, with replacement
    segment: int = 1  # each begins so many that follow each other in its episode: [rows, segment, …] if > 1


@dataclass(frozen=True)
class Run:
    """How to train, as opposed to what: the members' keys and logs, where to report and where to save.

    A part is handed a run that knows the part (`of`): its settings, its curves and its checkpoints go by that name.
    """

    keys: Array  # [M] one PRNG key per member
    report: Callable[[str, float], None] | None = None  # (stage, fraction done)
    checkpoint: Checkpoint | None = None
    shared: Checkpoint | None = None  # of what is prepared once for several runs; None: that is saved with this one
    arrangement: Literal["auto", "threads", "vectorised"] = "auto"
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # "part.field" -> [M] the members' own values
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # all values of those, in this run or not
    resamples: Resamples | None = None  # member i learns from resample i; None: everyone from the log as it is
    part: str = ""  # the encoder or estimator at work

    def of(self, part: str) -> "Run":
        return replace(self, part=part)

    @property
    def members(self) -> int:
        return len(self.keys)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """What decides the numbers that the part at work comes to, besides its data and its configuration."""
        given = [(kind, name, tuple(values)) for kind, all_ in (("own", self.settings), ("grid", self.grid))
                 for name, values in sorted(all_.items()) if name.startswith(f"{self.part}.")]  # fmt: skip
        keys = np.asarray(jax.random.key_data(self.keys)).tobytes()
        return self.part, keys, self.resamples, self.arrangement, tuple(given)

    @cached_property
    def counts(self) -> Counts | None:
        """[M, E] how often each member's log holds each episode; None where they all see the log as it is."""
        return None if self.resamples is None else self.resamples.counts(0, self.members)

    def mean_over_episodes(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[M] means of [M, E], each over the member's own log."""
        return np.asarray(np.average(values, axis=-1, weights=self.counts))

    def own(self, name: str, value: Any) -> list[Any]:
        """[M] one value of a field per member: the members' own, or everyone the same."""
        return list(self.settings.get(f"{self.part}.{name}", [value] * self.members))

    def spread(self, name: str, value: float) -> Array:
        """[M] the same of a number, as a learner takes it."""
        return jnp.asarray(self.own(name, value), jnp.float32)


@dataclass(frozen=True, eq=False)
class Trained:
    """Final states (leading member axis), and what was seen on the way."""

    stage: str
    state: Any
    steps: NDArray[np.int64]  # [C] the step after which each curve point was taken
    curves: dict[str, NDArray[np.float32]]  # each [C, M]
    diverged_at: NDArray[np.int64] = field(repr=False)  # [M] step at which a member was found diverged, or -1


def member_keys(seed: int, members: int) -> Array:
    """One key per member; member i's key does not depend on how many there are."""
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(jnp.arange(members))


def train(
    learner: Learner,
    transitions: Transitions,
    hyper: Hyper,
    steps: int,
    run: Run,
    stage: str | None = None,
    bound: float | None = None,
) -> Trained:
    """Train every member for `steps` updates.

    stage   what is trained, where the part itself trains more than one thing
    bound   the largest |estimate| that the rewards allow
    """
    stage = stage or run.part
    assert stage, "a run trains a part: run.of(name)"
    keys = jax.vmap(lambda k: jax.random.fold_in(k, zlib.crc32(stage.encode())))(run.keys)
    table = None
    if run.counts is not None:
        assert transitions.starts is not None, f"{stage}: rows without episodes cannot be resampled"
        table = row_table(run.counts, np.asarray(transitions.starts))
    arrange = _choose(run.arrangement, transitions)(learner, transitions, hyper, keys, table)
    snapshot = run.checkpoint.load(stage, arrange.shapes()) if run.checkpoint else None
    if snapshot is None:
        snapshot = Snapshot(arrange.init(), 0, {}, np.full(run.members, -1))
    else:
        snapshot = replace(snapshot, state=arrange.unstack(snapshot.state))
    chunk = int(np.clip(steps // CURVE_POINTS, MIN_CHUNK, MAX_CHUNK))
    saved, cost = time.monotonic(), 0.0
    while snapshot.step < steps:
        start, length = snapshot.step, min(chunk, steps - snapshot.step)

        def member_done(share: float, start: int = start, length: int = length) -> None:
            if run.report:
                run.report(stage, (start + share * length) / steps)

        state, seen = arrange.chunk(snapshot.state, start, length, member_done)
        snapshot = snapshot.extended(state, start + length, seen, _diverged(seen, bound))
        if run.checkpoint and (snapshot.step == steps or time.monotonic() - saved >= cost / CHECKPOINT_SHARE):
            began = time.monotonic()
            run.checkpoint.save(stage, replace(snapshot, state=arrange.stack(snapshot.state)))
            saved = time.monotonic()
            cost = saved - began
    if run.report:
        run.report(stage, 1.0)
    points = np.minimum(np.arange(1, -(-steps // chunk) + 1) * chunk, steps)
    return Trained(stage, arrange.stack(snapshot.state), points, snapshot.curves, snapshot.diverged_at)


def _diverged(seen: dict[str, NDArray[np.float32]], bound: float | None) -> NDArray[np.bool_]:
    """[M] members with anything not finite, or an estimate far beyond what the rewards allow."""
    bad = ~np.all([np.isfinite(values) for values in seen.values()], axis=0)
    if bound is not None and "estimate" in seen:
        with np.errstate(invalid="ignore"):
            bad |= np.abs(seen["estimate"]) > DIVERGED_AT_BOUNDS * bound
    result: NDArray[np.bool_] = bad
    return result


# --- one member -----------------------------------------------------------------------------------------------


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
    def step(state: Any, t: Array) -> tuple[Any, Metrics]:
        draw, noise = step_keys(key, t)
        index = draw_rows(transitions, table, learner.rows, draw, learner.segment)
        return learner.update(state, gather(transitions, index, member), noise, hyper)

    state, metrics = jax.lax.scan(step, state, start + jnp.arange(length))
    means = jax.tree.map(lambda values: values.mean(), metrics)
    return state, means | learner.probe(state, shown(transitions, member))


# --- all members ----------------------------------------------------------------------------------------------


class Threads:
    """One core per member at a time. On a CPU this beat a batched program at every size that was measured."""

    def __init__(self, learner: Learner, transitions: Transitions, hyper: Hyper, keys: Array, table: RowTable | None):
        self.learner, self.hyper, self.keys = learner, hyper, keys
        self.members = _unstack((keys, hyper))
        self.seen = [transitions.seen_by(i) for i in range(len(keys))]
        self.tables = [None] * len(keys) if table is None else [table.of(i) for i in range(len(keys))]

    def shapes(self) -> Any:
        return jax.eval_shape(jax.vmap(self.learner.init), self.keys, self.hyper)

    def init(self) -> list[Any]:
        # One by one, since batched products round differently; not as one program, since compiling it takes longer.
        return [self.learner.init(*own) for own in self.members]

    def unstack(self, state: Any) -> list[Any]:
        """The states of the members one by one, as they are trained here."""
        return _unstack(state)

    def stack(self, states: list[Any]) -> Any:
        """All states in one tree that leads with the member axis, as everyone else sees them."""
        return _stack(states)

    def chunk(
        self, states: list[Any], start: int, length: int, done: Callable[[float], None]
    ) -> tuple[list[Any], dict[str, NDArray[np.float32]]]:
        def one(i: int) -> Any:
            return jax.block_until_ready(self.chunk_of_one(i, states[i], start, length))

        pool = ThreadPoolExecutor(cores())
        try:
            results = []
            for place, future in enumerate([pool.submit(one, i) for i in range(len(states))]):
                results.append(future.result())
                done((place + 1) / len(states))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        metrics = [metrics for _, metrics in results]
        return [state for state, _ in results], {
            name: np.array([m[name] for m in metrics], np.float32) for name in metrics[0]
        }

    def chunk_of_one(self, i: int, state: Any, start: int, length: int) -> tuple[Any, Metrics]:
        """Member i, `length` steps on."""
        own = (state, *self.members[i], jnp.int32(start), self.seen[i], self.tables[i], jnp.int32(i))
        return _chunk_of_one(self.learner, length, *own)


class _Vectorised:
    """All members in one program, sharded over the devices present."""

    def __init__(self, learner: Learner, transitions: Transitions, hyper: Hyper, keys: Array, table: RowTable | None):
        devices = jax.devices()
        # As many devices as divide the members evenly; a padded member would cost as much as a real one.
        count = max(d for d in range(1, len(devices) + 1) if len(keys) % d == 0)
        mesh = Mesh(np.array(devices[:count]), ("members",))
        self._split = NamedSharding(mesh, PartitionSpec("members"))
        whole = NamedSharding(mesh, PartitionSpec())
        self.learner = learner
        self.hyper, self.keys = jax.device_put((hyper, keys), self._split)
        placed = (transitions, table)
        placement = jax.tree.map(
            lambda axis: whole if axis is None else self._split,
            (transitions.axes, table_axes(table)),
            is_leaf=lambda a: a is None,
        )
        self.transitions, self.table = jax.device_put(placed, placement)

    def shapes(self) -> Any:
        return jax.eval_shape(jax.vmap(self.learner.init), self.keys, self.hyper)

    def init(self) -> Any:
        return _init_of_all(self.learner, self.keys, self.hyper)

    def unstack(self, state: Any) -> Any:
        return jax.device_put(state, self._split)

    def stack(self, state: Any) -> Any:
        return state

    def chunk(
        self, state: Any, start: int, length: int, done: Callable[[float], None]
    ) -> tuple[Any, dict[str, NDArray[np.float32]]]:
        state, metrics = _chunk_of_all(
            self.learner, length, state, self.keys, self.hyper, jnp.int32(start), self.transitions, self.table
        )
        values = {name: np.asarray(v) for name, v in metrics.items()}
        done(1.0)
        return state, values


@partial(jax.jit, static_argnums=0)
def _init_of_all(learner: Learner, keys: Array, hyper: Hyper) -> Any:
    # A copy of every leaf: initial targets are the parameters themselves, and one buffer may not be donated twice.
    return jax.tree.map(jnp.copy, jax.vmap(learner.init)(keys, hyper))


@jax.jit
def _unstack(tree: Any) -> list[Any]:
    members = len(jax.tree.leaves(tree)[0])
    return [jax.tree.map(operator.itemgetter(i), tree) for i in range(members)]


@jax.jit
def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


_chunk_of_one = jax.jit(_train_chunk, static_argnums=(0, 1))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _chunk_of_all(
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


def _choose(arrangement: str, transitions: Transitions) -> type[Threads] | type[_Vectorised]:
    if transitions.streamed:
        from ropeval.learning.stream import Streamed  # which is made of parts of this file

        return Streamed
    if arrangement == "auto":
        arrangement = "threads" if jax.default_backend() == "cpu" else "vectorised"
    return Threads if arrangement == "threads" else _Vectorised


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
