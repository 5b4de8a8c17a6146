"""What the log shows of the things that rollouts show: the columns that matter, how they move, and who is still there.

A column matters by how much V_b changes where it is taken from another logged row.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.streaming import take
from ropeval.estimators.world.rollouts import Simulator
from ropeval.runtime import RUNS_ONCE

Doubles = NDArray[np.float64]
PICTURED = 4  # columns
MOMENTS = 41  # times at which a picture is looked at
LOOKED_AT = 2_000  # rows, evenly spaced, by which columns are compared
BAND = (0.1, 0.9)
FEWEST = 5  # episodes that still run, below which they are no crowd


class LogPaths(NamedTuple):
    names: tuple[str, ...]  # [k] of the columns that matter most
    steps: NDArray[np.int64]  # [T]
    bands: Doubles  # [T, k, 3] mean, 10 % and 90 % of the episodes that run; nan where these are too few
    survival: Doubles | None  # [T] share of the episodes that have not ended; None where none ever ends


def log_paths(dataset: Dataset, columns: NDArray[np.int64], horizon: int) -> LogPaths:
    steps = np.unique((horizon * np.linspace(0, 1, MOMENTS) ** 2).round().astype(np.int64))  # closer at first
    names = tuple(dataset.labels[0][column] for column in columns)
    lengths = np.diff(dataset.starts)
    bands = np.full((len(steps), len(columns), 3), np.nan)
    for place, step in enumerate(steps):
        rows = dataset.starts[:-1][lengths > step] + step
        if len(rows) >= FEWEST:
            seen = take(dataset.observations, rows)[:, columns].astype(np.float64)  # [n, k]
            bands[place] = np.stack([seen.mean(axis=0), *np.quantile(seen, BAND, axis=0)], axis=1)
    survival = log_survival(dataset, horizon)[steps] if dataset.terminations.any() else None
    return LogPaths(names, steps, bands, survival)


def log_survival(dataset: Dataset, horizon: int) -> Doubles:
    """[H + 1] share of the episodes that have not ended before each step (Kaplan and Meier: one that was cut off counts
    up to there); nan from where nobody is left to say."""
    lengths = np.diff(dataset.starts)
    lengths, last = lengths[lengths > 0], dataset.starts[1:][lengths > 0] - 1
    ended = np.bincount(lengths[dataset.terminations[last]] - 1, minlength=horizon + 1)[: horizon + 1]  # after a step
    running = len(lengths) - np.cumsum(np.bincount(lengths, minlength=horizon + 1))[: horizon + 1]
    with np.errstate(invalid="ignore"):
        staying = np.cumprod(np.where(running > 0, 1.0 - ended / running, np.nan))  # [H + 1] beyond each step
    return np.concatenate([[1.0], staying[:-1]])


def important_columns(world: Simulator, dataset: Dataset) -> NDArray[np.int64]:
    """[k] at most four, the most important first; columns that never change are not among them."""
    states = take(dataset.observations, np.arange(0, len(dataset), max(1, len(dataset) // LOOKED_AT)))
    others = states[np.random.default_rng(0).permutation(len(states))]
    matters = np.nan_to_num(np.asarray(_changes(world, states, others)))  # [S]
    varied = np.ptp(states, axis=0) > 0
    order = np.argsort(-np.where(varied, matters, -1.0), kind="stable")
    return np.asarray(order[: min(PICTURED, int(varied.sum()))], np.int64)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _changes(world: Simulator, states: Array, others: Array) -> Array:
    """[S] root mean square change of V_b, standardised, with one column of states [n, S] from others [n, S]."""
    mean, std = (jnp.asarray(a)[None] for a in (world.units.state_mean, world.units.state_std))

    def value(states: Array) -> Array:
        return world.weights @ jax.vmap(lambda net: net((states - mean) / std)[:, 0])(world.values)

    def one(column: Array) -> Array:
        return jnp.sqrt(((value(states.at[:, column].set(others[:, column])) - value(states)) ** 2).mean())

    return jax.lax.map(one, jnp.arange(states.shape[1]))
