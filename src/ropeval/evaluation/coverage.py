"""How far a policy's actions lie from the logged ones.

An estimate for a policy that does what the log never shows is a guess of the network, however small its interval. So:
take logged states, once with the logged action and once with the policy's, and look for the nearest logged pair of
*another* episode (the steps of one episode are near each other anyway). The distances of the logged pairs say how
dense the log is; a policy's pair that lies further out than 95 % of those is outside what the log shows.

It asks about the policy's actions in logged states. A policy that goes on to states which the log never saw, one
ordinary step at a time, looks covered; see docs/results/ranking.md for one.

Every column of state and action is divided by its standard deviation over the log. On long logs a sample stands for
the whole, the same for every policy.
"""

from typing import NamedTuple

import numpy as np

from ropeval.arrays import Floats, Integers, Singles
from ropeval.data import Log, Problem
from ropeval.evaluation.result import Coverage

ASKED, KNOWN = 500, 10_000  # pairs whose nearest neighbour is sought, and among which
SPREAD_LEVEL = 0.95
LEVELS = np.linspace(0.0, 1.0, 21)
POINTS = 300  # of each kind in the picture
FLAT = 1e-5  # columns that hardly vary are left as they are
BLOCK = 100  # pairs compared at a time


class LogSide(NamedTuple):
    """What does not depend on the policy."""

    asked: Integers  # [m] logged steps from whose states the policy is asked
    asked_episode: Integers  # [m]
    known: Singles  # [n, X] logged pairs, in units of their spread
    known_episode: Integers  # [n]
    logged: Singles  # [m, X] the logged pairs of those steps, and
    distances: Floats  # [m] how far each lies from the nearest known one
    centre: Singles  # [X]
    unit: Singles  # [X]
    axes: Singles  # [X, 2] in which the log varies most
    explained: list[float]

    def scaled(self, pairs: Singles) -> Singles:
        return np.asarray((pairs - self.centre) / self.unit, np.float32)


def log_side(log: Log, width: int | None) -> LogSide:
    """Of the pairs as problems of this log hold them; `width`: of the code of discrete actions."""
    data, pairs = log.dataset, log.pairs(width)
    rng = np.random.default_rng(0)
    known, asked = _sample(rng, len(data), KNOWN), _sample(rng, len(data), ASKED)
    known_episode, asked_episode = (np.searchsorted(data.starts, rows, side="right") - 1 for rows in (known, asked))
    some = pairs[known]  # [n, X]
    centre, unit = some.mean(axis=0), some.std(axis=0)
    unit[unit < FLAT] = 1.0
    reference, logged = (np.asarray((found - centre) / unit, np.float32) for found in (some, pairs[asked]))
    own = nearest(logged, reference, asked_episode, known_episode)
    axes = _main_axes(reference)
    return LogSide(asked, asked_episode, reference, known_episode, logged, own, centre, unit, *axes)


def measure(problem: Problem) -> Coverage:
    """In some next states of the log, since a policy acts where the last step has led."""
    width = problem.answers.logged.width
    log = problem.log.once((log_side, width), lambda: log_side(problem.log, width))
    chosen = log.scaled(problem.answers.after(log.asked))  # one action of the policy per state
    other = nearest(chosen, log.known, log.asked_episode, log.known_episode)
    edge = float(np.quantile(log.distances, SPREAD_LEVEL))
    return Coverage(
        policy=problem.policy.name,
        levels=LEVELS.tolist(),
        log_distances=np.quantile(log.distances, LEVELS).tolist(),
        policy_distances=np.quantile(other, LEVELS).tolist(),
        outside=float((other > edge).mean()),
        spread_level=SPREAD_LEVEL,
        log_points=np.round(log.logged[:POINTS] @ log.axes, 3).tolist(),
        policy_points=np.round(chosen[:POINTS] @ log.axes, 3).tolist(),
        explained=log.explained,
    )


def nearest(asked: Singles, known: Singles, asked_episode: Integers, known_episode: Integers) -> Floats:
    """[n] distance of each asked pair to the nearest known one of another episode; of any, if there is one only."""
    result = np.empty(len(asked))
    squares = (known**2).sum(axis=1)
    several = len(np.unique(known_episode)) > 1
    for start in range(0, len(asked), BLOCK):
        part = slice(start, start + BLOCK)
        distance = (asked[part] ** 2).sum(axis=1)[:, None] - 2.0 * asked[part] @ known.T + squares[None]
        if several:
            distance[asked_episode[part, None] == known_episode[None]] = np.inf
        result[part] = np.sqrt(np.maximum(distance.min(axis=1), 0.0))
    return result


def _sample(rng: np.random.Generator, size: int, wanted: int) -> Integers:
    return rng.permutation(size) if size <= wanted else rng.choice(size, wanted, replace=False)


def _main_axes(log: Singles) -> tuple[Singles, list[float]]:
    """[X, 2] the two directions in which the log varies most, and how much of its variance they show."""
    values, vectors = np.linalg.eigh(log.T @ log / len(log))  # centred already
    order = np.argsort(-values)[:2]
    axes = np.zeros((log.shape[1], 2), np.float32)
    axes[:, : len(order)] = vectors[:, order]
    total = float(values.sum()) or 1.0
    explained = [float(max(values[i], 0.0)) / total for i in order]
    return axes, explained + [0.0] * (2 - len(explained))
