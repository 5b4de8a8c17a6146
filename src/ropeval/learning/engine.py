"""The training loop: `scan` over steps, all members at once, in chunks; of several policies together where they meet.

After each chunk the engine records what the learner shows of itself and marks members that diverged; where members
meet, it writes a checkpoint. Step t of a member depends only on that member's key, t and the data: not on the chunk
length, on the other members, or on how the members are arranged over cores and devices.
"""

import time
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data.transitions import Transitions
from ropeval.learning.arrangements import Threads, Together, Vectorised
from ropeval.learning.checkpoint import Checkpoint, Snapshot
from ropeval.learning.company import Seat
from ropeval.learning.learner import Hyper, Learner, Metrics
from ropeval.learning.resample import Counts, Resamples, RowTable, row_table
from ropeval.learning.stream import Streamed

__all__ = ["Hyper", "Learner", "Metrics", "Order", "Run", "Trained", "chunk_length", "keys_for", "member_keys", "train"]
Told = Callable[[str, float], None]  # (stage, fraction done)
Aside = Callable[[Callable[[Told], Any]], None]  # calls what it is given on a thread of its own, with whom to tell
MIN_CHUNK, MAX_CHUNK = 10, 1_000
CURVE_POINTS = 50
LONG = 100_000  # steps from which on a device takes the time to search for the fastest program
DIVERGED_AT_BOUNDS = 10.0  # an estimate beyond so many times the reward bound is nonsense, not optimism
CHECKPOINT_SHARE = 0.1  # of the time, at most, goes into writing checkpoints


@dataclass(frozen=True)
class Run:
    """How to train, as opposed to what: the members' keys and logs, where to report and where to save.

    A part is handed a run that knows the part (`of`): its settings, its curves and its checkpoints go by that name.
    """

    keys: Array  # [M] one PRNG key per member
    report: Told | None = None
    checkpoint: Checkpoint | None = None
    shared: Checkpoint | None = None  # of what is prepared once for several runs; None: that is saved with this one
    arrangement: Literal["auto", "threads", "vectorised"] = "auto"
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # "part.field" -> [M] the members' own values
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # all values of those, in this run or not
    resamples: Resamples | None = None  # member i learns from resample i; None: everyone from the log as it is
    part: str = ""  # the encoder or estimator at work
    aside: Aside | None = None  # None: no thread is to spare
    seat: Seat | None = None  # among runs of other policies, which train what they can together with this one

    def of(self, part: str) -> "Run":
        return replace(self, part=part)

    def rehearse(self, work: Callable[["Run"], Any]) -> None:
        """Where a thread is to spare, call `work` on it with a run that saves nothing: what it compiles is there when
        this run comes to it. What it gives is for whoever lent the thread; what it raises, nobody hears."""
        if self.aside is not None:
            alone = replace(self, checkpoint=None, shared=None, aside=None, seat=None)
            self.aside(lambda told: work(replace(alone, report=told)))

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

    def held(self, episodes: int) -> Counts:
        """[M, E] the same, with every episode held once where nothing is resampled."""
        return np.ones((self.members, episodes), np.int64) if self.counts is None else self.counts

    def mean_over_episodes(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[M] means of [M, E], each over the member's own log."""
        return np.asarray(np.average(values, axis=-1, weights=self.counts))

    def own(self, name: str, value: Any) -> list[Any]:
        """[M] one value of a field per member: the members' own, or everyone the same."""
        return list(self.settings.get(f"{self.part}.{name}", [value] * self.members))

    def spread(self, name: str, value: float) -> Array:
        """[M] the same of a number, as a learner takes it."""
        return jax.device_put(np.array(self.own(name, value), np.float32))


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
    return _member_keys(np.int64(seed), members)


@partial(jax.jit, static_argnums=1)
def _member_keys(seed: Array, members: int) -> Array:
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(jnp.arange(members))


def keys_for(purpose: str, keys: Array) -> Array:
    """Others of the same members, for what goes by this name."""
    return _folded(keys, np.uint32(zlib.crc32(purpose.encode())))


@jax.jit
def _folded(keys: Array, number: Array) -> Array:
    return jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, number)


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
    order = Order(learner, transitions, hyper, steps, run, stage or run.part, bound)
    return run.seat.meet(order, _train_all) if run.seat else _train_all([order])[0]


class Order(NamedTuple):
    """What `train` is asked for."""

    learner: Learner
    transitions: Transitions
    hyper: Hyper
    steps: int
    run: Run
    stage: str
    bound: float | None = None

    @property
    def table(self) -> RowTable | None:
        """How each member draws from its own log."""
        if self.run.counts is None:
            return None
        assert self.transitions.starts is not None, f"{self.stage}: rows without episodes cannot be resampled"
        return row_table(self.run.counts, np.asarray(self.transitions.starts))

    def begun(self) -> Snapshot | None:
        """Where an earlier attempt left off."""
        if self.run.checkpoint is None:
            return None
        shapes = jax.eval_shape(jax.vmap(self.learner.init), self.run.keys, self.hyper)
        return self.run.checkpoint.load(self.stage, shapes)

    @property
    def given(self) -> tuple[Learner, Transitions, Hyper, Array, RowTable | None]:
        """The members, each with its key of this stage and its own log."""
        assert self.stage, "a run trains a part: run.of(name)"
        return self.learner, self.transitions, self.hyper, keys_for(self.stage, self.run.keys), self.table

    def arranged(self) -> Threads | Vectorised:
        """On the machine."""
        arrangement = _choose(self.run.arrangement, self.transitions)
        return Vectorised(*self.given, self.long) if arrangement is Vectorised else arrangement(*self.given)

    @property
    def long(self) -> bool:
        return self.steps >= LONG

    @property
    def joins(self) -> bool:
        """Whether it can be trained together with others: not where members have cores or devices of their own."""
        return _choose(self.run.arrangement, self.transitions) is Vectorised and len(jax.devices()) == 1

    @property
    def program(self) -> Hashable:
        """Orders of which this is the same are carried out by the same one."""
        leaves, tree = jax.tree.flatten((self.transitions, self.hyper, self.run.keys))
        return self.learner, self.steps, self.stage, tree, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)

    def tell(self, fraction: float) -> None:
        if self.run.report:
            self.run.report(self.stage, fraction)


def _train_all(orders: Sequence[Order]) -> list[Trained]:
    """Those that one program can train, together; the others one after the other."""
    groups: dict[Hashable, list[int]] = {}
    for place, order in enumerate(orders):
        groups.setdefault(order.program if order.joins else place, []).append(place)
    trained: dict[int, Trained] = {}
    for places in groups.values():
        trained |= dict(zip(places, _train_as_one([orders[place] for place in places]), strict=True))
    return [trained[place] for place in range(len(orders))]


def _train_as_one(orders: Sequence[Order]) -> list[Trained]:
    """Orders of one program. Where an earlier attempt left some of them further than others, all begin anew: apart they
    would round otherwise."""
    begun = [order.begun() for order in orders]
    if len({snapshot.step if snapshot else 0 for snapshot in begun}) > 1:
        begun = [None] * len(orders)
    arrange = orders[0].arranged() if len(orders) == 1 else Together([o.given for o in orders], orders[0].long)
    earlier = [snapshot for snapshot in begun if snapshot is not None]
    state = arrange.unstack([snapshot.state for snapshot in earlier]) if earlier else arrange.init()
    snapshots = earlier or [Snapshot(None, 0, {}, np.full(order.run.members, -1)) for order in orders]
    steps, step = orders[0].steps, snapshots[0].step
    chunk, saves = chunk_length(steps), any(order.run.checkpoint for order in orders)
    saved, cost = time.monotonic(), 0.0
    while step < steps:
        start, length = step, min(chunk, steps - step)
        count = min(arrange.in_a_row, (steps - start) // length)

        def member_done(share: float, start: int = start, further: int = count * length) -> None:
            for order in orders:
                order.tell((start + share * further) / steps)

        state, each = arrange.chunks(state, start, length, member_done, count)
        for seen in each:
            step += length
            snapshots = [
                snapshot.extended(None, step, own, _diverged(own, order.bound))
                for snapshot, own, order in zip(snapshots, seen, orders, strict=True)
            ]
        if saves and (step == steps or time.monotonic() - saved >= cost / CHECKPOINT_SHARE):
            began = time.monotonic()
            for order, snapshot, own in zip(orders, snapshots, arrange.stack(state), strict=True):
                if order.run.checkpoint:
                    order.run.checkpoint.save(order.stage, replace(snapshot, state=own))
            saved = time.monotonic()
            cost = saved - began
    points = np.minimum(np.arange(1, -(-steps // chunk) + 1) * chunk, steps)
    for order in orders:
        order.tell(1.0)
    return [
        Trained(order.stage, own, points, snapshot.curves, snapshot.diverged_at)
        for order, own, snapshot in zip(orders, arrange.stack(state), snapshots, strict=True)
    ]


def chunk_length(steps: int) -> int:
    return int(np.clip(steps // CURVE_POINTS, MIN_CHUNK, MAX_CHUNK))


def _diverged(seen: dict[str, NDArray[np.float32]], bound: float | None) -> NDArray[np.bool_]:
    """[M] members with anything not finite, or an estimate far beyond what the rewards allow."""
    bad = ~np.all([np.isfinite(values) for values in seen.values()], axis=0)
    if bound is not None and "estimate" in seen:
        with np.errstate(invalid="ignore"):
            bad |= np.abs(seen["estimate"]) > DIVERGED_AT_BOUNDS * bound
    return bad


def _choose(arrangement: str, transitions: Transitions) -> type[Threads] | type[Vectorised]:
    if transitions.streamed:
        return Streamed
    if arrangement == "auto":
        arrangement = "threads" if jax.default_backend() == "cpu" else "vectorised"
    return Threads if arrangement == "threads" else Vectorised
