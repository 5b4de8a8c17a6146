"""Importance weights: how much likelier the evaluation policy makes what was logged, and what that is worth.

    ρ_t = Π_{k≤t} π_e(a_k|s_k)/π_b(a_k|s_k)   along a logged episode

The ratios are those of the *logged* actions under both policies; their products are kept as sums of logarithms in
double precision. π_b is the log's `log_probs` where it has them and is fitted where it has not. The weights of long
episodes grow so unequal that one episode decides. The effective sample size, (Σρ)²/Σρ², says how many count.
"""

from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.data import Log, Problem
from ropeval.data.needs import WEIGHTS, check_needs
from ropeval.data.returns import discounted_steps
from ropeval.estimators.behaviour import Behaviour, fit_behaviour
from ropeval.estimators.estimator import EffectiveSize
from ropeval.learning.engine import Run, Trained
from ropeval.learning.prepare import prepared
from ropeval.policies.policy import log_probs

Rows = Float[Floats, " N"]
PerEpisode = Float[Floats, "{self.count}"]
Counts = Int[Integers, " E"]
LARGEST_LOG = 700.0  # of a number that a file can hold


# --- the episodes and their weights ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Episodes:
    """Where every row lies: its episode and its time within it. Rows beyond the horizon are left out."""

    starts: Int[Integers, " E_and_1"]
    gamma: float
    horizon: int | None = None

    @property
    def lengths(self) -> Int[Integers, " E"]:
        return np.diff(self.starts)

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def time(self) -> Int[Integers, " N"]:
        return np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.lengths)

    @property
    def discount(self) -> Rows:
        return np.asarray(self.gamma**self.time, np.float64)

    def cumulated(self, steps: Rows) -> Rows:
        """Sums from the start of its episode up to every row, itself included."""
        result = np.empty_like(steps)
        for first, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            np.cumsum(steps[first:end], out=result[first:end])
        return result

    def last(self, rows: Rows, empty: float) -> PerEpisode:
        """The value at the last row of every episode, `empty` where it has none."""
        result = np.full(self.count, empty)
        some = self.lengths > 0
        result[some] = rows[self.starts[1:][some] - 1]
        return result

    def summed(self, rows: Rows) -> PerEpisode:
        """Sum over every episode."""
        total = np.concatenate([np.zeros(1), np.cumsum(rows)])
        return np.asarray(total[self.starts[1:]] - total[self.starts[:-1]])

    def log_totals(self, log_weights: Rows, counts: Counts) -> Float[Floats, " T"]:
        """log Σ_e c_e ρ_t for every time t, where an episode that has ended keeps its last weight."""
        longest = int(self.lengths.max())
        rows = np.repeat(counts, self.lengths)  # [N]
        running = _grouped_log_sum(log_weights, rows, self.time, longest)  # [T]
        ended = _grouped_log_sum(self.last(log_weights, 0.0), counts, self.lengths, longest + 1)  # [T + 1] by length
        return np.asarray(np.logaddexp(running, np.logaddexp.accumulate(ended)[:longest]))


def _grouped_log_sum(
    logs: Float[Floats, " n"], counts: Int[Integers, " n"], group: Int[Integers, " n"], groups: int
) -> Float[Floats, " {groups}"]:
    """log Σ c·exp over every group; −∞ where it is empty."""
    some = counts > 0
    logs, counts, group = logs[some], counts[some], group[some]
    peak = np.full(groups, -np.inf)
    np.maximum.at(peak, group, logs)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    total = np.bincount(group, counts * np.exp(logs - safe[group]), groups)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + safe)


# --- the ratios of the two policies ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """log ρ_t of every logged step, by member where the behaviour policy was fitted."""

    log: Float[Floats, "M N"]  # M is 1 where the probabilities are the logged ones
    episodes: Episodes
    trained: tuple[Trained, ...]
    warnings: tuple[str, ...]
    rows: EllipsisType | Booleans = ...  # of the log, that lie within the horizon


def prepare(log: Log, config: Any, run: Run) -> Behaviour | None:
    """The behaviour policy, where the log does not hold its probabilities: the same for all that ask for it alike.

    `config.behaviour` says how it is fitted.
    """
    if log.dataset.log_probs is not None:
        return None
    return prepared(fit_behaviour, log, config.behaviour, run.of("behaviour"))


def make_weights(problem: Problem, behaviour: Behaviour | None) -> Weights:
    data, policy = problem.dataset, problem.policy
    check_needs("importance sampling", WEIGHTS, data, policy)
    episodes, rows = within_horizon(problem)
    target = log_probs(policy, data.observations, data.actions)  # [N]
    trained: tuple[Trained, ...] = ()
    warnings: tuple[str, ...] = ()
    if behaviour is None:
        assert data.log_probs is not None
        logged = data.log_probs.astype(np.float64)[None]  # [1, N]
    else:
        logged, trained = behaviour.log_probs, (behaviour.trained,)
        warnings = ("the log holds no log_probs: the behaviour policy was fitted to its actions", *behaviour.warnings)
    cumulated = np.stack([episodes.cumulated(row) for row in (target[None] - logged)[:, rows]])
    return Weights(cumulated, episodes, trained, warnings, rows)


def within_horizon(problem: Problem) -> tuple[Episodes, EllipsisType | Booleans]:
    """The episodes up to the horizon, and which rows of the log these are."""
    starts = problem.dataset.starts
    whole = Episodes(starts, problem.gamma)
    if problem.horizon is None:
        return whole, ...
    kept = np.minimum(whole.lengths, problem.horizon)
    cut = Episodes(np.concatenate([[0], np.cumsum(kept)]), problem.gamma, problem.horizon)
    return cut, whole.time < problem.horizon


# --- what they are worth --------------------------------------------------------------------------------------


def effective_size(log: Rows, episodes: Episodes, per_decision: bool) -> float:
    """(Σρ)²/Σρ² over the episodes' final weights; or its mean over time, discounted."""
    if per_decision:
        all_ = np.ones(episodes.count, np.int64)
        with np.errstate(invalid="ignore"):
            sizes = np.exp(2.0 * episodes.log_totals(log, all_) - episodes.log_totals(2.0 * log, all_))  # [T]
        discount = episodes.gamma ** np.arange(len(sizes))
        return float((np.nan_to_num(sizes) * discount).sum() / discount.sum())
    final = episodes.last(log, 0.0)
    if final.max() == -np.inf:
        return 0.0
    weights = np.exp(final - final.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def episode_weights(log: Floats, episodes: Episodes, per_decision: bool) -> Floats:
    """[E] log of an episode's weight: the last ρ, or the discounted mean of ρ over time. Its expectation is 1."""
    last = episodes.last(log, 0.0)
    if not per_decision:
        return last
    with np.errstate(divide="ignore"):
        steps = discounted_steps(episodes.gamma, np.inf if episodes.horizon is None else episodes.horizon)
        beyond = steps - discounted_steps(episodes.gamma, episodes.lengths)  # [E] what lies beyond the last step
        faded = np.log(np.maximum(beyond, 0.0) / steps)
        terms = log + np.log(episodes.discount / steps)  # [N]
    episode = np.repeat(np.arange(episodes.count), episodes.lengths)
    return np.logaddexp(_grouped_log_sum(terms, np.ones_like(episode), episode, episodes.count), last + faded)


def effective_sample(weights: Weights, per_decision: bool) -> EffectiveSize:
    """The median over the members of how much the weights are worth, and of what is odd about them."""
    found = [_weighed(log, weights.episodes, per_decision) for log in weights.log]
    size, mean, largest, length = (float(np.median(each)) for each in zip(*found, strict=True))
    return EffectiveSize(size, per_decision, mean, largest, length)


def _weighed(log: Floats, episodes: Episodes, per_decision: bool) -> tuple[float, float, float, float]:
    size, logs = effective_size(log, episodes, per_decision), episode_weights(log, episodes, per_decision)
    peak = float(logs.max())
    if peak == -np.inf:
        return size, 0.0, 0.0, 1.0
    weights = np.exp(logs - peak)  # [E]
    mean = float(np.exp(min(peak + np.log(weights.mean()), LARGEST_LOG)))
    top = np.sort(weights)[-max(1, round(0.01 * len(weights))) :]
    length = float(np.average(episodes.lengths, weights=weights) / episodes.lengths.mean())
    return size, mean, float(top.sum() / weights.sum()), length


def episode_shares(weights: Weights, run: Run) -> Float[Floats, " E"] | None:
    """How much each episode counts in the law of the returns, one in all: ρ_{T−1}/Σρ_{T−1}, the mean over members, each
    on its own log. None where the policy takes no logged path."""
    final = np.stack([weights.episodes.last(log, 0.0) for log in weights.log])  # [M, E]
    if weights.trained and run.counts is not None:
        final = np.where(run.counts > 0, final + np.log(np.maximum(run.counts, 1)), -np.inf)
    final = final[np.isfinite(final.max(axis=1))]
    if not len(final):
        return None
    share = np.exp(final - final.max(axis=1, keepdims=True))
    return np.asarray((share / share.sum(axis=1, keepdims=True)).mean(axis=0))
