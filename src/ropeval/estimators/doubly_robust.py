"""Doubly robust: a fitted q, and the importance-weighted mean of what it gets wrong along the logged episodes.

    dr    1/E Σ_e [ V(s₀) + Σ_t γ^t ρ_t δ_t ],       δ_t = r_t + γ V(s_{t+1}) − q(s_t, a_t),   V(s) = E_{a~π_e} q(s, a)
    wdr   1/E Σ_e V(s₀) + Σ_t γ^t Σ_e ( ρ_t / Σ_e ρ_t ) δ_t

This is Σ_t γ^t ( ρ_t r_t − ρ_t q_t + ρ_{t−1} V_t ) with the terms of q collected by step. V is zero after a
termination. After a truncation it is not: the episode's sum ends with γ^T ρ_{T−1} V(s_T), q's own word for the rest.
Right ratios make `dr` unbiased whatever q is, up to that last term; a right q makes every δ_t vanish on average,
whatever the ratios are.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ropeval.arrays import Floats
from ropeval.data import Problem
from ropeval.data.needs import WEIGHTS
from ropeval.estimators.behaviour import Behaviour, FitsBehaviour
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE, FQEConfig, fit_q
from ropeval.estimators.importance import Averaged, by_counts, mean_of, weighted_per_decision
from ropeval.estimators.importance_weights import (
    Episodes,
    Weights,
    effective_sample,
    episode_shares,
    make_weights,
    prepare,
)
from ropeval.estimators.return_distribution import doubly_robust_atoms
from ropeval.learning.engine import Run


class DoublyRobustConfig(FitsBehaviour, FQEConfig):
    """Settings of q, and how long the behaviour policy is fitted where the log has no probabilities."""


def doubly_robust(log: Floats, errors: Floats, initial: Floats, episodes: Episodes) -> Averaged:
    """`log` [N]: log ρ_t; `errors` [N]: δ_t; `initial` [E]: V(s₀)."""
    return mean_of(initial + episodes.summed(np.exp(log) * episodes.discount * errors))


def weighted_doubly_robust(log: Floats, errors: Floats, initial: Floats, episodes: Episodes) -> Averaged:
    values, corrections = mean_of(initial), weighted_per_decision(log, errors, episodes)
    return lambda counts: values(counts) + corrections(counts)


def temporal_differences(problem: Problem, logged: Floats, following: Floats) -> Floats:
    """δ of every logged step for q(s, a) [M, N] and V(s') [M, N]."""
    rows = problem.transitions.rows
    reward, discount = (np.asarray(a, np.float64)[None] for a in (rows.reward, rows.discount))  # [1, N]
    return np.asarray(reward + discount * following - logged)


def estimate(
    problem: Problem, config: DoublyRobustConfig, run: Run, behaviour: Behaviour | None, weighted: bool
) -> Estimated:
    weights = make_weights(problem, behaviour)
    fitted = fit_q(problem, config, run)
    following = fitted.on_next()  # [M, N]
    errors = temporal_differences(problem, fitted.on_logged(), following)  # [M, N]
    initial = fitted.on_initial()  # [M, E]
    errors = errors[:, weights.rows]
    log = np.broadcast_to(weights.log, errors.shape)
    average = weighted_doubly_robust if weighted else doubly_robust
    own = zip(log, errors, initial, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate"
        averages = [average(rho, delta, start, weights.episodes) for rho, delta, start in own]
    trained, effective = (*weights.trained, fitted.trained), effective_sample(weights, per_decision=True)
    estimated = by_counts(run, weights.episodes.count, averages)
    returns = weighed_returns(problem, weights, run, initial, following)
    return replace(
        estimated, trained=trained, warnings=weights.warnings, q=fitted, effective=effective, returns=returns,
        backups=fitted.backups._replace(mended=True),
    )  # fmt: skip


def weighed_returns(
    problem: Problem, weights: Weights, run: Run, initial: Floats, following: Floats
) -> tuple[Floats, Floats] | None:
    """What an episode may earn, and how much it weighs, doubly robust; V(s₀) [M, E] and V(s') [M, N] of all members."""
    episodes, share = weights.episodes, episode_shares(weights, run)
    sound = np.isfinite(initial).all(axis=1) & np.isfinite(following).all(axis=1)
    if share is None or not sound.any():
        return None
    reward, discount = (np.asarray(a, np.float64)[weights.rows] for a in problem.transitions.rows[2:4])
    rest = discount * following[sound].mean(axis=0)[weights.rows]  # [N] nothing after a termination
    logged = episodes.summed(episodes.discount * reward)
    values = initial[sound].mean(axis=0)  # [E]
    last = episodes.last(episodes.discount * rest, 0.0)
    beyond = np.where(episodes.lengths > 0, last, values)  # [E] q's word for what was cut off
    beyond[episodes.lengths == problem.horizon] = 0.0
    return doubly_robust_atoms(logged + beyond, share, values)


def _entry(name: str, weighted: bool, summary: str) -> Estimator:
    return Estimator(
        name,
        DoublyRobustConfig,
        partial(estimate, weighted=weighted),
        summary,
        takes_features=True,
        presets=FQE.presets,
        family="doubly robust",
        needs=WEIGHTS,
        spread=FQE.spread,
        prepare=prepare,
        tells_returns=True,
        by_group=True,
        takes_horizon=True,
    )


DR = _entry("dr", False, "doubly robust: fitted q, corrected by importance-weighted errors")
WDR = _entry("wdr", True, "the same, weights normalised at every step")
