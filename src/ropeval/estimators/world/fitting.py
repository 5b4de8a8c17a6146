"""How long the networks are trained, and whether with LayerNorm: rows that a member has not seen decide.

Every member has learned from a resample of the episodes, so about a third of them are new to it. Where it foresees
the rows that it knows much better than those that it does not, it has learned some by heart, noise and all. Then
others are tried, and whoever foresees unseen rows best is taken: a quarter of the steps, and again as long as less is
more; and networks without LayerNorm, in which errors may feed on themselves, so that they must be clearly better.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset, Rows, Transitions
from ropeval.estimators.world.network import Sizes, make_learner, row_loss
from ropeval.estimators.world.units import Units
from ropeval.learning.engine import Hyper, Run, Told, Trained, train
from ropeval.runtime import RUNS_ONCE

OTHERS = "world-others"  # the stage of what is tried beside the first
BY_HEART = 0.02  # by how much the loss of unseen rows may exceed that of seen ones, in shares of a column's variance
FEWEST_PASSES = 4.0  # over the log, below which nothing is tried
CLEARLY = 0.99  # of the other's loss on unseen rows: then a network without LayerNorm is taken
LOOKED_AT = 20_000  # rows, evenly spaced, by which members are judged and compared on the log
BLOCK = 4096  # rows at a time, at most
Learn = Callable[..., Trained]  # `train`, or what stands for it in a rehearsal


@dataclass(frozen=True, eq=False)
class Candidate:
    trained: Trained
    sizes: Sizes
    seen: float  # mean loss of rows that a member has learned from
    unseen: float  # and of the others; nan where there are none

    @property
    def by_heart(self) -> bool:
        return self.unseen - self.seen > BY_HEART


def fit_networks(
    data: Transitions,
    dataset: Dataset,
    units: Units,
    sizes: Sizes,
    hyper: Hyper,
    run: Run,
    settled: bool,
    learn: Learn = train,
    rehearsed: bool = False,
) -> tuple[Trained, Sizes]:
    """Networks, and the sizes that they came out best with; `settled`: those that were given; `rehearsed`: unseen rows
    are asked about the first, and no other is tried."""
    learned = partial(_learned, learn, data, units, hyper)
    trained = learned(run, sizes)
    if settled or run.counts is None:  # without resamples every row has been seen
        return trained, sizes
    judged = partial(losses, data=data, dataset=dataset, units=units, run=run)
    first = Candidate(trained, sizes, *judged(trained))
    if rehearsed or not first.by_heart:
        return trained, sizes

    def tried(name: str, other: Sizes) -> Candidate:
        aside = replace(run, report=_as_one_stage(run.report))
        found = replace(learned(aside, other, f"{OTHERS}-{name}"), stage=run.part)
        return Candidate(found, other, *judged(found))

    best = first
    for shorter in _shorter(sizes, data.size):
        other = tried(str(shorter.steps), shorter)
        if not other.unseen < best.unseen:
            break
        best = other
    if sizes.norm:
        plain = tried("plain", sizes._replace(norm=False))
        best = plain if plain.unseen < CLEARLY * best.unseen else best
    return best.trained, best.sizes


def _learned(
    learn: Learn, data: Transitions, units: Units, hyper: Hyper, run: Run, sizes: Sizes, stage: str | None = None
) -> Trained:
    learner = make_learner(sizes, int(data.rows.x.shape[-1]), len(units.moving), units.choices)
    return learn(learner, data, hyper, sizes.steps, run, stage or run.part)


def _shorter(sizes: Sizes, rows: int) -> Iterator[Sizes]:
    while sizes.steps // 4 * sizes.batch >= FEWEST_PASSES * rows:
        sizes = sizes.shortened(sizes.steps // 4)
        yield sizes


def _as_one_stage(report: Told | None) -> Told | None:
    """Whatever is tried, to those who watch it is one thing."""
    return report and (lambda stage, share: report(OTHERS, share))


# --- what unseen rows say -------------------------------------------------------------------------------------


def losses(trained: Trained, data: Transitions, dataset: Dataset, units: Units, run: Run) -> tuple[float, float]:
    """Mean over the sound members of the loss of rows that each has seen, and of those that it has not."""
    rows = rows_looked_at(data.size)
    found = _row_losses(trained.state.target, data.block(rows), len(units.moving), units.choices)
    new, sound = unseen_rows(dataset, run, rows), (trained.diverged_at < 0)[:, None]
    each = np.asarray(found, np.float64)  # [M, n]
    return _mean(each, ~new & sound), _mean(each, new & sound)


def _mean(values: NDArray[np.float64], asked: NDArray[np.bool_]) -> float:
    return float(values[asked].mean()) if asked.any() else float("nan")


@partial(jax.jit, static_argnums=(2, 3), compiler_options=RUNS_ONCE)
def _row_losses(nets: Any, rows: Rows, moving: int, choices: tuple[int, ...]) -> Array:
    """[M, n]"""

    def one(net: Any) -> Array:
        loss = partial(row_loss, net, moving=moving, choices=choices)
        return jax.lax.map(loss, rows, batch_size=block_of(len(rows.reward)))

    return jax.vmap(one)(nets)


def block_of(rows: int) -> int:
    """How many of them at a time: as even as can be, since what is left over is compiled for itself."""
    return -(-rows // -(-rows // BLOCK))


def rows_looked_at(size: int) -> NDArray[np.int64]:
    """Of so many."""
    return np.arange(0, size, max(1, size // LOOKED_AT))


def unseen_rows(dataset: Dataset, run: Run, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[M, n] whether a member has not learned from a row; where there are no resamples, all have from all."""
    if run.counts is None:
        return np.zeros((run.members, len(rows)), bool)
    episode = np.searchsorted(dataset.starts, rows, side="right") - 1
    return np.asarray(run.counts[:, episode] == 0)
