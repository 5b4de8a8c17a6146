"""Importance sampling: the logged returns, reweighted by how much likelier the evaluation policy makes them.

    ρ_t = Π_{k≤t} π_e(a_k|s_k)/π_b(a_k|s_k)   along a logged episode of T steps,  E episodes

    is      1/E  Σ_e ρ_{T−1} Σ_t γ^t r_t                    pdis    1/E  Σ_e Σ_t γ^t ρ_t r_t
    wis     Σ_e ρ_{T−1} Σ_t γ^t r_t / Σ_e ρ_{T−1}           wpdis   Σ_t γ^t ( Σ_e ρ_t r_t / Σ_e ρ_t )

An episode that has ended keeps its last ratio and earns nothing more, so the sums over e always run over all
episodes. The ratios are those of the *logged* actions under both policies; their products are kept as sums of
logarithms in double precision. π_b is the log's `log_probs` where it has them and is fitted where it has not.

Nothing is assumed about the task, not even that it is Markov, and `is` and `pdis` are unbiased; but the weights of
long episodes grow so unequal that one episode decides. The effective sample size, (Σρ)²/Σρ², says how many count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Problem
from ropeval.errors import UserError
from ropeval.estimators.behaviour import BehaviourConfig, fit_behaviour
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.learning.engine import Run, Trained
from ropeval.policies import Policy
from ropeval.policies.policy import log_probs

Floats = NDArray[np.float64]
FEW_EFFECTIVE = 10.0  # episodes; below, the average is one of anecdotes
CUT_OFF = 0.05  # of the discounted horizon beyond the log's cut-offs


class ImportanceConfig(BehaviourConfig):
    """How the behaviour policy is fitted; unused where the log holds its probabilities."""


# --- the episodes and their weights ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Episodes:
    """Where every row lies: its episode and its time within it."""

    starts: NDArray[np.int64]  # [E + 1]
    gamma: float

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def time(self) -> NDArray[np.int64]:
        return np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.lengths)  # [N]

    @property
    def discount(self) -> Floats:
        return np.asarray(self.gamma**self.time, np.float64)  # [N]

    def cumulated(self, steps: Floats) -> Floats:
        """Sums from the start of its episode up to every row, itself included: [N] → [N]."""
        result = np.empty_like(steps)
        for first, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            np.cumsum(steps[first:end], out=result[first:end])
        return result

    def last(self, rows: Floats, empty: float) -> Floats:
        """The value at the last row of every episode, `empty` where it has none: [N] → [E]."""
        result = np.full(self.count, empty)
        some = self.lengths > 0
        result[some] = rows[self.starts[1:][some] - 1]
        return result

    def summed(self, rows: Floats) -> Floats:
        """Sum over every episode: [N] → [E]."""
        total = np.concatenate([np.zeros(1), np.cumsum(rows)])
        return np.asarray(total[self.starts[1:]] - total[self.starts[:-1]])

    def log_totals(self, log_weights: Floats) -> Floats:
        """log Σ_e ρ_t for every time t, where an episode that has ended keeps its last weight: [N] → [T]."""
        longest = int(self.lengths.max())
        running = _grouped_log_sum(log_weights, self.time, longest)  # [T]
        ended = _grouped_log_sum(self.last(log_weights, 0.0), self.lengths, longest + 1)  # [T + 1] by length
        return np.asarray(np.logaddexp(running, np.logaddexp.accumulate(ended)[:longest]))


def _grouped_log_sum(logs: Floats, group: NDArray[np.int64], groups: int) -> Floats:
    """log Σ exp over every group; −∞ where it is empty."""
    peak = np.full(groups, -np.inf)
    np.maximum.at(peak, group, logs)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    total = np.bincount(group, np.exp(logs - safe[group]), groups)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + safe)


# --- the ratios of the two policies ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """log ρ_t of every logged step, by member where the behaviour policy was fitted."""

    log: Floats  # [M, N], or [1, N] from logged probabilities
    episodes: Episodes
    trained: dict[str, Trained]
    warnings: tuple[str, ...]


def make_weights(problem: Problem, config: BehaviourConfig, run: Run) -> Weights:
    data, policy = problem.dataset, problem.policy
    check(data, policy)
    episodes = Episodes(data.starts, problem.gamma)
    target = log_probs(policy, data.observations, data.actions)  # [N]
    trained: dict[str, Trained] = {}
    warnings: tuple[str, ...] = ()
    if data.log_probs is not None:
        logged = data.log_probs.astype(np.float64)[None]  # [1, N]
    else:
        behaviour = fit_behaviour(data, policy, config, run)
        logged, trained = behaviour.log_probs, {"behaviour": behaviour.trained}
        warnings = ("the log holds no log_probs: the behaviour policy was fitted to its actions", *behaviour.warnings)
    cumulated = np.stack([episodes.cumulated(row) for row in target[None] - logged])
    return Weights(cumulated, episodes, trained, warnings)


def check(dataset: Dataset, policy: Policy) -> None:
    """Importance sampling needs the evaluation policy's probabilities."""
    if policy.deterministic:
        raise UserError(
            f"policy {policy.name}: it is deterministic, so its actions have no probabilities to weigh the log by; "
            "is, wis, pdis, wpdis, dr and wdr need a stochastic policy: leave them out (fqe takes any policy)"
        )
    if not policy.has_log_prob:
        raise UserError(
            f"policy {policy.name}: it cannot tell the probability of an action; is, wis, pdis, wpdis, dr and wdr "
            "need log_prob(observations, actions) -> [n]: give it to CallablePolicy, set it as an attribute of the "
            "function, or leave these methods out"
        )


# --- the four averages ----------------------------------------------------------------------------------------


def ordinary_trajectory(log: Floats, rewards: Floats, episodes: Episodes) -> float:
    returns = episodes.summed(episodes.discount * rewards)  # [E]
    return float((np.exp(episodes.last(log, 0.0)) * returns).mean())


def weighted_trajectory(log: Floats, rewards: Floats, episodes: Episodes) -> float:
    returns = episodes.summed(episodes.discount * rewards)  # [E]
    final = episodes.last(log, 0.0)
    weights = np.exp(final - final.max())
    return float((weights * returns).sum() / weights.sum())


def ordinary_per_decision(log: Floats, rewards: Floats, episodes: Episodes) -> float:
    return float((np.exp(log) * episodes.discount * rewards).sum() / episodes.count)


def weighted_per_decision(log: Floats, rewards: Floats, episodes: Episodes) -> float:
    share = np.exp(log - episodes.log_totals(log)[episodes.time])  # [N] ρ_t / Σ_e ρ_t
    return float((share * episodes.discount * rewards).sum())


Average = Callable[[Floats, Floats, Episodes], float]


def estimate(problem: Problem, config: ImportanceConfig, run: Run, average: Average, per_decision: bool) -> Estimated:
    weights = make_weights(problem, config, run)
    rewards = problem.dataset.rewards.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate", with its warning
        values = np.array([average(log, rewards, weights.episodes) for log in weights.log])
    notes = (*effective_note(weights, per_decision), *weights.warnings, *cut_off_note(problem))
    return Estimated(values, weights.trained, notes)


# --- what speaks against them ---------------------------------------------------------------------------------


def effective_size(log: Floats, episodes: Episodes, per_decision: bool) -> float:
    """(Σρ)²/Σρ² over the episodes' final weights; or its mean over time, discounted."""
    if per_decision:
        with np.errstate(invalid="ignore"):
            sizes = np.exp(2.0 * episodes.log_totals(log) - episodes.log_totals(2.0 * log))  # [T]
        discount = episodes.gamma ** np.arange(len(sizes))
        return float((np.nan_to_num(sizes) * discount).sum() / discount.sum())
    final = episodes.last(log, 0.0)
    if final.max() == -np.inf:
        return 0.0
    weights = np.exp(final - final.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def effective_note(weights: Weights, per_decision: bool) -> tuple[str, ...]:
    """The effective sample size, in every result."""
    sizes = [effective_size(log, weights.episodes, per_decision) for log in weights.log]
    size, episodes = float(np.median(sizes)), weights.episodes.count
    kind = " (discounted mean over time)" if per_decision else ""
    shown = f"{size:,.0f}" if size >= 100 else f"{size:.3g}"
    note = f"effective sample size {shown} of {episodes:,} episodes{kind}"
    if size == 0.0:
        note += ": the policy never takes the logged actions; there is nothing to weigh"
    elif size < FEW_EFFECTIVE:
        note += ": a few episodes decide everything; the estimate can be off by any amount"
    return (note,)


def cut_off_note(problem: Problem) -> tuple[str, ...]:
    """Nothing is known beyond a truncation, and these averages count it as nothing."""
    data = problem.dataset
    episodes = Episodes(data.starts, problem.gamma)
    ended = episodes.last(data.terminations.astype(np.float64), 0.0) > 0
    beyond = float(np.where(ended, 0.0, problem.gamma ** episodes.lengths.astype(np.float64)).mean())
    if beyond <= CUT_OFF:
        return ()
    return (
        f"{beyond:.0%} of the discounted horizon lies beyond the log's cut-offs: this is the return up to there, "
        "not the value",
    )


def _entry(average: Average, per_decision: bool, summary: str) -> Estimator:
    run = partial(estimate, average=average, per_decision=per_decision)
    return Estimator(ImportanceConfig, run, summary, takes_features=False, check=check)


IS = _entry(ordinary_trajectory, False, "importance sampling of whole episodes")
WIS = _entry(weighted_trajectory, False, "the same, weights normalised")
PDIS = _entry(ordinary_per_decision, True, "importance sampling step by step")
WPDIS = _entry(weighted_per_decision, True, "the same, weights normalised at every step")
