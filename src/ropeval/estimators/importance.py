"""Importance sampling: the logged returns, reweighted by how much likelier the evaluation policy makes them.

    ρ_t = Π_{k≤t} π_e(a_k|s_k)/π_b(a_k|s_k)   along a logged episode of T steps,  E episodes

    is      1/E  Σ_e ρ_{T−1} Σ_t γ^t r_t                    pdis    1/E  Σ_e Σ_t γ^t ρ_t r_t
    wis     Σ_e ρ_{T−1} Σ_t γ^t r_t / Σ_e ρ_{T−1}           wpdis   Σ_t γ^t ( Σ_e ρ_t r_t / Σ_e ρ_t )

An episode that has ended keeps its last ratio and earns nothing more, so the sums over e always run over all
episodes. The law of the returns takes the weights of whole episodes, normalised, in all four
(`return_distribution.py`). Nothing is assumed about the task, not even that it is Markov, and `is` and `pdis` are
unbiased; but the weights of long episodes grow so unequal that one episode decides (`importance_weights.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from ropeval.arrays import Booleans, Floats
from ropeval.data import Problem
from ropeval.data.needs import WEIGHTS
from ropeval.estimators.behaviour import Behaviour, BehaviourConfig
from ropeval.estimators.estimator import Estimated, Estimator, exact
from ropeval.estimators.importance_weights import (
    Counts,
    Episodes,
    Rows,
    effective_sample,
    episode_shares,
    make_weights,
    prepare,
)
from ropeval.learning.engine import Run

CUT_OFF = 0.05  # of the discounted horizon beyond the log's cut-offs


class ImportanceConfig(BehaviourConfig):
    """How the behaviour policy is fitted; unused where the log holds its probabilities."""

    @property
    def behaviour(self) -> BehaviourConfig:
        return BehaviourConfig(**self.model_dump())

    def stages(self, part: str) -> dict[str, int]:
        return {"behaviour": self.steps}


# --- the four averages, over the episodes of a resample's counts ---------------------------------------------

Averaged = Callable[[Counts], float]
Average = Callable[[Rows, Rows, Episodes], Averaged]  # of log ρ_t and rewards; what needs no counts is done once


def mean_of(terms: Float[Floats, " E"]) -> Averaged:
    return lambda counts: float((counts * terms).sum() / counts.sum())


def ordinary_trajectory(log: Rows, rewards: Rows, episodes: Episodes) -> Averaged:
    return mean_of(np.exp(episodes.last(log, 0.0)) * episodes.summed(episodes.discount * rewards))


def weighted_trajectory(log: Rows, rewards: Rows, episodes: Episodes) -> Averaged:
    returns = episodes.summed(episodes.discount * rewards)  # [E]
    final = episodes.last(log, 0.0)

    def average(counts: Counts) -> float:
        weights = counts * np.exp(final - final[counts > 0].max())
        return float((weights * returns).sum() / weights.sum())

    return average


def ordinary_per_decision(log: Rows, rewards: Rows, episodes: Episodes) -> Averaged:
    return mean_of(episodes.summed(np.exp(log) * episodes.discount * rewards))


def weighted_per_decision(log: Rows, rewards: Rows, episodes: Episodes) -> Averaged:
    time, discounted = episodes.time, episodes.discount * rewards

    def average(counts: Counts) -> float:
        rows = np.repeat(counts, episodes.lengths)  # [N]
        some = rows > 0
        total = episodes.log_totals(log, counts)[time[some]]
        share = rows[some] * np.exp(log[some] - total)  # c_e ρ_t / Σ_e c_e ρ_t
        return float((share * discounted[some]).sum())

    return average


def estimate(
    problem: Problem,
    config: ImportanceConfig,
    run: Run,
    behaviour: Behaviour | None,
    average: Average,
    per_decision: bool,
) -> Estimated:
    """Exact where the log holds its probabilities; otherwise from each member's fit, on the member's own log."""
    weights = make_weights(problem, behaviour)
    rewards, episodes = problem.dataset.rewards[weights.rows].astype(np.float64), weights.episodes
    notes = (*weights.warnings, *cut_off_note(problem))
    effective = effective_sample(weights, per_decision)
    share = episode_shares(weights, run)
    returns = None if share is None else (episodes.summed(episodes.discount * rewards), share)
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate", with its warning
        averages = [average(log, rewards, episodes) for log in weights.log]
        if not weights.trained:
            return exact(run, episodes.count, averages[0], warnings=notes, effective=effective, returns=returns)
        estimated = by_counts(run, episodes.count, averages)
    return replace(estimated, trained=weights.trained, warnings=notes, effective=effective, returns=returns)


def by_counts(run: Run, episodes: int, averages: Sequence[Averaged]) -> Estimated:
    """Each member's average over its own log, of all episodes or of some."""
    counts = run.held(episodes)

    def among(held: Booleans) -> Estimated:
        own = zip(averages, counts * held[None], strict=True)
        with np.errstate(over="ignore", invalid="ignore"):
            return Estimated(np.array([average(count) if count.any() else np.nan for average, count in own]))

    return replace(among(np.ones(episodes, bool)), among=among)


def cut_off_note(problem: Problem) -> tuple[str, ...]:
    """Nothing is known beyond a truncation, and these averages count it as nothing."""
    beyond = problem.log.beyond_cuts
    if beyond <= CUT_OFF:
        return ()
    return (
        f"{beyond:.0%} of the discounted horizon lies beyond the log's cut-offs: this is the return up to there, "
        "not the value",
    )


def _entry(name: str, average: Average, per_decision: bool, summary: str) -> Estimator:
    run = partial(estimate, average=average, per_decision=per_decision)
    return Estimator(
        name,
        ImportanceConfig,
        run,
        summary,
        takes_features=False,
        family="importance sampling",
        needs=WEIGHTS,
        prepare=prepare,
        tells_returns=True,
        by_group=True,
        takes_horizon=True,
    )


IS = _entry("is", ordinary_trajectory, False, "importance sampling of whole episodes")
WIS = _entry("wis", weighted_trajectory, False, "the same, weights normalised")
PDIS = _entry("pdis", ordinary_per_decision, True, "importance sampling step by step")
WPDIS = _entry("wpdis", weighted_per_decision, True, "the same, weights normalised at every step")
