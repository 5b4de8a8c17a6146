"""Doubly robust: a fitted q, and the importance-weighted mean of what it gets wrong along the logged episodes.

    dr    1/E Σ_e [ V(s₀) + Σ_t γ^t ρ_t δ_t ],       δ_t = r_t + γ V(s_{t+1}) − q(s_t, a_t),   V(s) = E_{a~π_e} q(s, a)
    wdr   1/E Σ_e V(s₀) + Σ_t γ^t Σ_e ( ρ_t / Σ_e ρ_t ) δ_t

This is Σ_t γ^t ( ρ_t r_t − ρ_t q_t + ρ_{t−1} V_t ) with the terms of q collected by step. V is zero after a
termination. After a truncation it is not: the episode's sum ends with γ^T ρ_{T−1} V(s_T), q's own word for the rest.
Right ratios make `dr` unbiased whatever q is, up to that last term; a right q makes every δ_t vanish on average,
whatever the ratios are.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from ropeval.data import Problem
from ropeval.estimators.behaviour import BehaviourConfig
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE, FQEConfig, fit_q
from ropeval.estimators.importance import Episodes, check, effective_note, make_weights
from ropeval.learning.engine import Run

Floats = NDArray[np.float64]


class DoublyRobustConfig(FQEConfig):
    """Settings of q, and how long the behaviour policy is fitted where the log has no probabilities."""

    behaviour_steps: PositiveInt = 5_000


def doubly_robust(log: Floats, errors: Floats, initial: Floats, episodes: Episodes) -> float:
    """`log` [N]: log ρ_t; `errors` [N]: δ_t; `initial` [E]: V(s₀)."""
    return float(initial.mean() + (np.exp(log) * episodes.discount * errors).sum() / episodes.count)


def weighted_doubly_robust(log: Floats, errors: Floats, initial: Floats, episodes: Episodes) -> float:
    share = np.exp(log - episodes.log_totals(log)[episodes.time])  # [N]
    return float(initial.mean() + (share * episodes.discount * errors).sum())


def temporal_differences(problem: Problem, logged: Floats, following: Floats) -> Floats:
    """δ of every logged step for q(s, a) [M, N] and V(s') [M, N]."""
    data = problem.dataset
    discount = np.where(data.terminations, 0.0, problem.gamma)  # [N]
    return np.asarray(data.rewards.astype(np.float64)[None] + discount[None] * following - logged)


def estimate(problem: Problem, config: DoublyRobustConfig, run: Run, weighted: bool) -> Estimated:
    weights = make_weights(problem, BehaviourConfig(steps=config.behaviour_steps), run)
    fitted = fit_q(problem, config, run)
    errors = temporal_differences(problem, fitted.on_logged(), fitted.on_next())  # [M, N]
    initial = fitted.on_initial()  # [M, E]
    log = np.broadcast_to(weights.log, errors.shape)
    average = weighted_doubly_robust if weighted else doubly_robust
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate"
        values = [average(*member, weights.episodes) for member in zip(log, errors, initial, strict=True)]
    notes = (*effective_note(weights, per_decision=True), *weights.warnings)
    return Estimated(np.array(values), {"fqe": fitted.trained, **weights.trained}, notes)


def _entry(weighted: bool, summary: str) -> Estimator:
    run = partial(estimate, weighted=weighted)
    return Estimator(DoublyRobustConfig, run, summary, takes_features=True, presets=FQE.presets, check=check)


DR = _entry(False, "doubly robust: fitted q, corrected by importance-weighted errors")
WDR = _entry(True, "the same, weights normalised at every step")
