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

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from pydantic import PositiveFloat, PositiveInt

from ropeval.arrays import Floats, Integers
from ropeval.data import Problem
from ropeval.estimators.estimator import EffectiveSize, Estimated, Estimator
from ropeval.estimators.occupancy_features import Basis, Table, random_features, table
from ropeval.estimators.occupancy_flow import Flow, imbalance, make_flow
from ropeval.learning.engine import Run
from ropeval.runtime import cores
from ropeval.settings import PartConfig

PROBES = 64  # functions that the ratio was not fitted to
IMBALANCED = 0.3  # of the spread of a value function


class OccupancyConfig(PartConfig):
    features: PositiveInt = 256  # random ones, where pairs are too many for a table
    bandwidth: PositiveFloat = 1.0  # of the kernel, in units of the median distance of two logged pairs
    ridge: PositiveFloat  # τ, in units of 1/rows: how far the flow may stay unbalanced for the sake of a small ratio


Solve = Callable[[Flow, Any], Floats]  # of the flow and the configuration: κ [d]


class Ratio(NamedTuple):
    """One member's ratio on the rows of its log."""

    values: Floats  # [N] ζ; 0 where the member's log does not hold the row
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
    basis: Basis = cells or random_features(transitions, config.features, config.bandwidth, rng)
    flow = make_flow(transitions, basis, gamma, counts)
    zeta = flow.values(solve(flow, config))
    if positive:
        zeta = np.maximum(zeta, 0.0)
    weight = flow.share * zeta  # [n]
    rests = np.asarray(transitions.rows.discount)[flow.held] == 0.0
    probes: Basis = cells or random_features(transitions, PROBES, config.bandwidth, rng)
    values = np.zeros(transitions.size)
    values[flow.held] = zeta
    return Ratio(
        values,
        float(weight @ problem.dataset.rewards[flow.held].astype(np.float64)) / (1.0 - gamma),
        float(weight @ np.where(rests, 1.0 / (1.0 - gamma), 1.0)),
        imbalance(flow, probes, gamma, zeta, counts),
        float((values < 0.0).mean()),
    )


def estimate(problem: Problem, config: OccupancyConfig, run: Run, solve: Solve, positive: bool = False) -> Estimated:
    counts = run.held(problem.dataset.num_episodes)
    cells, ratios = table(problem.transitions), []
    draws = [np.random.default_rng(np.asarray(jax.random.key_data(key))) for key in run.keys]
    with ThreadPoolExecutor(cores()) as pool:  # a core for each member; what an accelerator does, it does one by one
        for ratio in pool.map(partial(make_ratio, problem, config, solve, positive, cells), draws, counts):
            ratios.append(ratio)
            if run.report:
                run.report(run.part, len(ratios) / run.members)
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
