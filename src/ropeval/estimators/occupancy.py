"""Occupancy ratios: how much more often π_e visits a logged pair, discounted, than the log does. What all share.

    ζ(x) = d_π(x)/d_D(x),     ρ̂(π_e) = E_D[ ζ(x) r ] / (1−γ)

ζ is known by the flow that it must balance: for every function ν of a pair

    E_D[ ζ(x)·( ν(x) − γ ν(x') ) ] = (1−γ)·E[ ν(s₀, a₀) ],      a', a₀ ~ π_e;  γ is 0 where the episode terminated

No probabilities are asked for, of neither policy. Here ν and ζ are linear in the same features φ (ζ perhaps cut off
below at 0), so that every method is a small linear or convex problem in the moments

    C = E_D[ φφᵀ ],   A = E_D[ φ(φ − γφ')ᵀ ],   b = (1−γ)·E[ φ(s₀, a₀) ],

solved to the end: no saddle point is chased with two networks. φ is a table where the log and π_e know few pairs
together, and the answer is then that of the log's own counts; elsewhere random Fourier features, which stand for the
Gaussian kernel with the width of the median distance, and a constant. Each member draws its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from pydantic import PositiveFloat, PositiveInt

from ropeval.arrays import Floats, Integers, Singles
from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.estimators.estimator import EffectiveSize, Estimated, Estimator
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig

BLOCK = 4096  # rows whose features are made at a time
MOST_CELLS = 300  # pairs in a table
SAME = 1e-9  # two pairs whose projections lie nearer are one
GLANCED = 1000  # rows whose distances set the width of the kernel
PROBES = 64  # functions that the ratio was not fitted to
IMBALANCED = 0.3  # of the spread of a value function


class OccupancyConfig(PartConfig):
    features: PositiveInt = 256  # random ones, where pairs are too many for a table
    bandwidth: PositiveFloat = 1.0  # of the kernel, in units of the median distance of two logged pairs
    ridge: PositiveFloat  # τ, in units of 1/rows: how far the flow may stay unbalanced for the sake of a small ratio


# --- the features ---------------------------------------------------------------------------------------------


class Basis(Protocol):
    def __call__(self, x: Singles) -> Singles:
        """[…, d] of pairs […, X]."""
        ...

    @property
    def constant(self) -> Floats:
        """[d] of length one, in whose direction φ is the same for every pair."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """One feature per pair. A random projection tells pairs apart; cells are cut half-way between its values."""

    direction: Floats  # [X]
    cuts: Floats  # [cells − 1]

    def __call__(self, x: Singles) -> Singles:
        cells = np.searchsorted(self.cuts, x.astype(np.float64) @ self.direction)
        return np.eye(len(self.cuts) + 1, dtype=np.float32)[cells]

    @property
    def constant(self) -> Floats:
        cells = len(self.cuts) + 1
        return np.full(cells, 1.0 / np.sqrt(cells))


@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """1, and cos and sin of random frequencies: their products are those of the Gaussian kernel, on average."""

    frequencies: Singles  # [X, D/2]

    def __call__(self, x: Singles) -> Singles:
        angles = x @ self.frequencies
        size = np.float32(1.0 / np.sqrt(self.frequencies.shape[1]))
        ones = np.ones((*x.shape[:-1], 1), np.float32)
        return np.concatenate([ones, size * np.cos(angles), size * np.sin(angles)], axis=-1)

    @property
    def constant(self) -> Floats:
        return np.append(1.0, np.zeros(2 * self.frequencies.shape[1]))


def table(transitions: Transitions) -> Table | None:
    """Of all pairs that the log or the policy knows; None where they are too many."""
    direction, known = np.random.default_rng(0).standard_normal(transitions.dim), np.zeros(0)
    logged = (part for rows in _row_blocks(transitions) for part in (rows.x, rows.next_x))
    for x in chain([transitions.initial_block()], logged):
        known = np.unique(np.concatenate([known, (x.astype(np.float64) @ direction).ravel()]))
        known = known[np.append(True, np.diff(known) > SAME)]
        if len(known) > MOST_CELLS:
            return None
    return Table(direction, (known[1:] + known[:-1]) / 2.0)


def random_features(transitions: Transitions, config: OccupancyConfig, rng: np.random.Generator) -> RandomFeatures:
    every = max(1, transitions.size // GLANCED)
    x = transitions.block(slice(None, None, every)).x.astype(np.float64)  # [n, X]
    scale = x.std(axis=0)
    if transitions.code:
        scale[-transitions.code :] = 1.0  # two different actions are as far apart as two states, whatever is rare
    scale[scale < SAME] = 1.0
    x = x / scale
    apart = np.linalg.norm(x - x[rng.permutation(len(x))], axis=1)
    width = config.bandwidth * (float(np.median(apart[apart > 0.0])) if (apart > 0.0).any() else 1.0)
    draws = rng.standard_normal((len(scale), max(1, config.features // 2)))
    return RandomFeatures((draws / (width * scale[:, None])).astype(np.float32))


# --- the moments ----------------------------------------------------------------------------------------------


class Flow(NamedTuple):
    """All that a ratio is fitted to."""

    C: Floats  # [d, d]
    A: Floats  # [d, d]
    b: Floats  # [d]
    constant: Floats  # [d] see `Basis`
    phi: Singles  # [n, d] of every row
    share: Floats  # [n] of the log that is each row's; sums to one

    @property
    def rows(self) -> int:
        return max(1, int(np.count_nonzero(self.share)))


def _row_blocks(transitions: Transitions) -> Iterator[Rows]:
    yield from transitions.blocks([*range(0, transitions.size, BLOCK), transitions.size])


def _following(rows: Rows, basis: Basis) -> Floats:
    """γ·E φ(s', a') of some rows, [n, d]."""
    mean = expected(basis(rows.next_x), rows.next_weight)
    return np.asarray(rows.discount, np.float64)[:, None] * mean


def make_flow(transitions: Transitions, basis: Basis, gamma: float, counts: Integers) -> Flow:
    """`counts` [E]: how often the member's log holds each episode."""
    starts = np.asarray(transitions.starts)
    share = np.repeat(counts, np.diff(starts)).astype(np.float64)
    share /= max(share.sum(), 1.0)
    seen, C, A = [], np.zeros(()), np.zeros(())
    for place, rows in enumerate(_row_blocks(transitions)):
        phi = basis(rows.x)
        seen.append(phi)
        weighted = (phi * share[place * BLOCK : place * BLOCK + len(phi), None]).T  # [d, n]
        C, A = C + weighted @ phi, A + weighted @ (phi - _following(rows, basis))
    start = (1.0 - gamma) * initial_mean(transitions, basis, counts)
    return Flow(C, A, start, basis.constant, np.concatenate(seen), share)


def initial_mean(transitions: Transitions, basis: Basis, counts: Integers) -> Floats:
    """E φ(s₀, a₀), [d]."""
    initial = expected(basis(transitions.initial_block()), _array(transitions.initial_weight))  # [E, d]
    return np.asarray(counts @ initial.astype(np.float64) / max(counts.sum(), 1))


def _array(weight: Any) -> Any:
    return None if weight is None else np.asarray(weight)


# --- the estimate, and what speaks for and against the ratio ---------------------------------------------------

Solve = Callable[[Flow, Any], Floats]  # of the flow and the configuration: κ [d]


class Ratio(NamedTuple):
    """One member's ratio on the rows of its log."""

    values: Floats  # [N] ζ
    estimate: float
    mean: float  # 1, if the ratio is that of two distributions: what has ended rests where it ended
    imbalance: float  # error of the value, in units of its function's spread, for functions that were not fitted
    negative: float  # share of the rows


def make_ratio(
    problem: Problem,
    config: OccupancyConfig,
    solve: Solve,
    positive: bool,
    cells: Table | None,
    rng: np.random.Generator,
    counts: Integers,
) -> Ratio:
    transitions, gamma = problem.transitions, problem.gamma
    basis: Basis = cells or random_features(transitions, config, rng)
    flow = make_flow(transitions, basis, gamma, counts)
    zeta = flow.phi @ solve(flow, config)
    if positive:
        zeta = np.maximum(zeta, 0.0)
    weight = flow.share * zeta  # [N]
    discount = np.asarray(transitions.rows.discount, np.float64)
    probes: Basis = cells or random_features(transitions, config.model_copy(update={"features": PROBES}), rng)
    return Ratio(
        zeta,
        float(weight @ problem.dataset.rewards.astype(np.float64)) / (1.0 - gamma),
        float(weight @ np.where(discount > 0.0, 1.0, 1.0 / (1.0 - gamma))),
        imbalance(transitions, probes, gamma, flow.share, weight, counts),
        float((weight < 0.0).mean()),
    )


def imbalance(
    transitions: Transitions, probes: Basis, gamma: float, share: Floats, weight: Floats, counts: Integers
) -> float:
    """Rms over functions g of E_D[ ζ(g − γg') ]/(1−γ) − E[g(s₀, a₀)], in units of the spread of g over the log.

    With g = q this is the error of the estimate.
    """
    balance = -initial_mean(transitions, probes, counts)
    mean, square = np.zeros_like(balance), np.zeros_like(balance)
    for place, rows in enumerate(_row_blocks(transitions)):
        part = slice(place * BLOCK, (place + 1) * BLOCK)
        g = probes(rows.x).astype(np.float64)
        mean, square = mean + share[part] @ g, square + share[part] @ g**2
        balance = balance + weight[part] @ (g - _following(rows, probes)) / (1.0 - gamma)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = spread > 1e-6
    return float(np.sqrt(np.mean((balance[varies] / spread[varies]) ** 2))) if varies.any() else 0.0


def estimate(problem: Problem, config: OccupancyConfig, run: Run, solve: Solve, positive: bool = False) -> Estimated:
    counts = run.held(problem.dataset.num_episodes)
    cells, ratios = table(problem.transitions), []
    for member, key in enumerate(run.keys):
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        ratios.append(make_ratio(problem, config, solve, positive, cells, rng, counts[member]))
        if run.report:
            run.report(run.part, (member + 1) / run.members)
    about = {
        name: float(np.median([getattr(one, name) for one in ratios])) for name in ("mean", "imbalance", "negative")
    }
    effective = effective_size(problem, ratios, counts)
    extras = {"ratio": {"tabular": cells is not None, **about}}
    values = np.array([one.estimate for one in ratios])
    return Estimated(values, warnings=warnings(about["imbalance"]), effective=effective, extras=extras)


def effective_size(problem: Problem, ratios: list[Ratio], counts: Integers) -> EffectiveSize:
    """Of the weights that episodes have in all: steps of one episode do not count for many."""
    starts, found = problem.dataset.starts, []
    for one, held in zip(ratios, counts, strict=True):
        total = np.concatenate([np.zeros(1), np.cumsum(one.values)])
        weights = held * (total[starts[1:]] - total[starts[:-1]])  # [E]
        size = float(np.abs(weights).sum())
        top = np.sort(np.abs(weights))[-max(1, round(0.01 * len(weights))) :]
        squares = float((weights**2).sum())
        found.append((weights.sum() ** 2 / squares if squares else 0.0, one.mean, top.sum() / size if size else 0.0))
    size, mean, largest = (float(np.median(each)) for each in zip(*found, strict=True))
    return EffectiveSize(size, per_decision=False, mean=mean, largest=largest)


def warnings(unbalanced: float) -> tuple[str, ...]:
    if unbalanced <= IMBALANCED:
        return ()
    return (
        f"the occupancy ratio does not balance the flow: values of functions that it was not fitted to are off by "
        f"{unbalanced:.2g} of their spread; the log does not hold where the policy goes, or the features are too few",
    )


def entry(name: str, config: type[OccupancyConfig], solve: Solve, summary: str, positive: bool = False) -> Estimator:
    run = partial(estimate, solve=solve, positive=positive)
    return Estimator(name, config, run, summary, takes_features=False, family="occupancy ratios")
