"""The training loop: `scan` over steps, all members at once, in chunks.

After each chunk the engine records what the learner shows of itself and marks members that diverged; where members
meet, it writes a checkpoint. Step t of a member depends only on that member's key, t and the data: not on the chunk
length, on the other members, or on how the members are arranged over cores and devices.
"""

import time
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data.transitions import Transitions
from ropeval.learning.arrangements import Threads, Vectorised
from ropeval.learning.checkpoint import Checkpoint, Snapshot
from ropeval.learning.learner import Hyper, Learner, Metrics
from ropeval.learning.resample import Counts, Resamples, row_table
from ropeval.learning.stream import Streamed

__all__ = ["Hyper", "Learner", "Metrics", "Run", "Trained", "blank", "first_chunk", "keys_for", "member_keys", "train"]
Told = Callable[[str, float], None]  # (stage, fraction done)
Aside = Callable[[Callable[[Told], Any]], None]  # calls what it is given on a thread of its own, with whom to tell
MIN_CHUNK, MAX_CHUNK = 10, 1_000
CURVE_POINTS = 50
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

    def of(self, part: str) -> "Run":
        return replace(self, part=part)

    def rehearse(self, work: Callable[["Run"], Any]) -> None:
        """Where a thread is to spare, call `work` on it with a run that saves nothing: what it compiles is there when
        this run comes to it. What it gives is for whoever lent the thread; what it raises, nobody hears."""
        if self.aside is not None:
            alone = replace(self, checkpoint=None, shared=None, aside=None)
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
    stage = stage or run.part
    arrange = _arranged(learner, transitions, hyper, run, stage)
    snapshot = run.checkpoint.load(stage, arrange.shapes()) if run.checkpoint else None
    if snapshot is None:
        snapshot = Snapshot(arrange.init(), 0, {}, np.full(run.members, -1))
    else:
        snapshot = replace(snapshot, state=arrange.unstack(snapshot.state))
    chunk = _chunk_length(steps)
    saved, cost = time.monotonic(), 0.0
    while snapshot.step < steps:
        start, length = snapshot.step, min(chunk, steps - snapshot.step)
        count = min(arrange.in_a_row, (steps - start) // length)

        def member_done(share: float, start: int = start, further: int = count * length) -> None:
            if run.report:
                run.report(stage, (start + share * further) / steps)

        state, each = arrange.chunks(snapshot.state, start, length, member_done, count)
        for seen in each:
            snapshot = snapshot.extended(state, snapshot.step + length, seen, _diverged(seen, bound))
        if run.checkpoint and (snapshot.step == steps or time.monotonic() - saved >= cost / CHECKPOINT_SHARE):
            began = time.monotonic()
            run.checkpoint.save(stage, replace(snapshot, state=arrange.stack(snapshot.state)))
            saved = time.monotonic()
            cost = saved - began
    if run.report:
        run.report(stage, 1.0)
    points = np.minimum(np.arange(1, -(-steps // chunk) + 1) * chunk, steps)
    return Trained(stage, arrange.stack(snapshot.state), points, snapshot.curves, snapshot.diverged_at)


def first_chunk(
    learner: Learner, transitions: Transitions, hyper: Hyper, steps: int, run: Run, stage: str | None = None
) -> Trained:
    """As far as the same training comes with its first chunk, by the same programs: a rehearsal. The last chunk may be
    shorter, which is another program."""
    stage = stage or run.part
    arrange, length = _arranged(learner, transitions, hyper, run, stage), min(_chunk_length(steps), steps)
    told = partial(run.report, stage) if run.report else lambda share: None
    told(0.0)
    if isinstance(arrange, Vectorised):  # compiled beside what makes the first weights, which takes about as long
        for some in filter(None, (length, steps % length)):
            arrange.chunks(arrange.blank(), 0, some, told)
    state, (seen,) = arrange.chunks(arrange.init(), 0, length, told)
    curves = {name: values[None] for name, values in seen.items()}
    return Trained(stage, arrange.stack(state), np.array([length]), curves, np.full(run.members, -1))


def blank(
    learner: Learner, transitions: Transitions, hyper: Hyper, steps: int, run: Run, stage: str | None = None
) -> Trained:
    """What the same training gives, as far as programs can tell: the same shapes in the same place, all zeros. Only
    where all members are one program."""
    stage = stage or run.part
    arrange = _arranged(learner, transitions, hyper, run, stage)
    assert isinstance(arrange, Vectorised), "each member has a program of its own"
    return Trained(stage, arrange.blank(), np.array([steps]), {}, np.full(run.members, -1))


def _arranged(learner: Learner, transitions: Transitions, hyper: Hyper, run: Run, stage: str) -> Threads | Vectorised:
    """The members on the machine, each with its key of this stage and its own log."""
    assert stage, "a run trains a part: run.of(name)"
    keys, table = keys_for(stage, run.keys), None
    if run.counts is not None:
        assert transitions.starts is not None, f"{stage}: rows without episodes cannot be resampled"
        table = row_table(run.counts, np.asarray(transitions.starts))
    return _choose(run.arrangement, transitions)(learner, transitions, hyper, keys, table)


def _chunk_length(steps: int) -> int:
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
