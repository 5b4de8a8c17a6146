"""How long the networks are trained, and whether with LayerNorm: rows that a member has not seen decide.

Every member has learned from a resample of the episodes, so about a third of them are new to it. Where it foresees
the rows that it knows much better than those that it does not, it has learned some by heart, noise and all. Then
others are tried, and whoever foresees unseen rows best is taken: a quarter of the steps, and again as long as less is
more; and networks without LayerNorm, which errors may feed on in rollouts, so that they must be clearly better.
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
LOOKED_AT = 20_000  # rows, evenly spaced
BLOCK = 4096
Learn = Callable[..., Trained]  # `train`, or what stands for it in a rehearsal


@dataclass(frozen=True, eq=False)
class Fitted:
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
) -> Fitted:
    """`settled`: nothing else is tried."""
    fitted = partial(_fitted, learn, data, dataset, units, hyper, run)
    best = first = fitted(sizes)
    if settled or not first.by_heart:
        return first
    for other in _shorter(sizes, data.size):
        shorter = fitted(other, stage=f"{OTHERS}-{other.steps}")
        if not shorter.unseen < best.unseen:
            break
        best = shorter
    plain = fitted(sizes._replace(norm=False), stage=f"{OTHERS}-plain")
    return plain if plain.unseen < CLEARLY * best.unseen else best


def _shorter(sizes: Sizes, rows: int) -> Iterator[Sizes]:
    while sizes.steps // 4 * sizes.batch >= FEWEST_PASSES * rows:
        sizes = sizes.shortened(sizes.steps // 4)
        yield sizes


def _fitted(
    learn: Learn,
    data: Transitions,
    dataset: Dataset,
    units: Units,
    hyper: Hyper,
    run: Run,
    sizes: Sizes,
    stage: str | None = None,
) -> Fitted:
    choices = tuple(len(values) for values in units.values)
    learner = make_learner(sizes, int(data.rows.x.shape[-1]), len(units.moving), choices)
    own = run if stage is None else replace(run, report=_as_others(run.report))
    trained = learn(learner, data, hyper, sizes.steps, own, stage)
    seen, unseen = losses(trained, data, dataset, units, run)
    return Fitted(replace(trained, stage=run.part), sizes, seen, unseen)


def _as_others(report: Told | None) -> Told | None:
    """Whatever is tried, it is one stage to those who watch."""
    return report and (lambda stage, share: report(OTHERS, share))


def losses(trained: Trained, data: Transitions, dataset: Dataset, units: Units, run: Run) -> tuple[float, float]:
    """Mean over the sound members of the loss of rows that each has seen, and of those that it has not."""
    rows = np.arange(0, data.size, max(1, data.size // LOOKED_AT))
    found = np.asarray(
        _row_losses(trained.state.target, data.block(rows), len(units.moving), tuple(map(len, units.values))),
        np.float64,
    )  # [M, n]
    new, sound = unseen_rows(dataset, run, rows), (trained.diverged_at < 0)[:, None]
    return tuple(_mean(found, asked & sound) for asked in (~new, new))  # type: ignore[return-value]


def _mean(values: NDArray[np.float64], asked: NDArray[np.bool_]) -> float:
    return float(values[asked].mean()) if asked.any() else float("nan")


@partial(jax.jit, static_argnums=(2, 3), compiler_options=RUNS_ONCE)
def _row_losses(nets: Any, rows: Rows, moving: int, choices: tuple[int, ...]) -> Array:
    def one(net: Any) -> Array:
        return jax.lax.map(partial(row_loss, net, moving=moving, choices=choices), rows, batch_size=BLOCK)

    return jax.vmap(one)(nets)


def unseen_rows(dataset: Dataset, run: Run, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[M, n] whether a member has not learned from a row; where there are no resamples, all have from all."""
    if run.counts is None:
        return np.zeros((run.members, len(rows)), bool)
    episode = np.searchsorted(dataset.starts, rows, side="right") - 1
    return np.asarray(run.counts[:, episode] == 0)
