"""Doubts about the log, and about how the policy goes with it: one small function each."""

import numpy as np

from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import Finding

OUTSIDE, FAR_OUTSIDE = 0.3, 0.7  # share of the policy's pairs; 0.05 is what the log's own pairs have
FEW_EFFECTIVE = 10.0  # episodes; below, the average is one of anecdotes
FEW_EPISODES = 20
MOSTLY_CUT, BEYOND = 0.5, 0.25  # episodes without an end; discounted weight beyond the cut-offs


def coverage(e: Evidence) -> Finding | None:
    if e.coverage is None or e.coverage.outside <= OUTSIDE:
        return None
    middle = len(e.coverage.levels) // 2
    own, other = e.coverage.log_distances[middle], e.coverage.policy_distances[middle]
    return Finding(
        "coverage",
        "severe" if e.coverage.outside > FAR_OUTSIDE else "warning",
        f"{e.coverage.outside:.0%} of what the policy would do lies further from the log than "
        f"{e.coverage.spread_level:.0%} of the log does from itself (median distance {other:.3g} against {own:.3g})",
        "the estimate rests on extrapolation: log data nearer to this policy, or trust its order more than its value",
        {"outside": e.coverage.outside, "policy_distance": other, "log_distance": own},
    )


def effective_sample_size(e: Evidence) -> Finding | None:
    if e.estimated.effective is None:
        return None
    size, per_decision = e.estimated.effective
    episodes = e.problem.dataset.num_episodes
    kind = " (discounted mean over time)" if per_decision else ""
    shown = f"{size:,.0f}" if size >= 100 else f"{size:.3g}"
    message = f"effective sample size {shown} of {episodes:,} episodes{kind}"
    numbers = {"effective": size, "episodes": episodes}
    if size >= FEW_EFFECTIVE or size >= 0.9 * episodes:
        return Finding("effective-sample-size", "note", message, "", numbers)
    why = (
        "the policy never takes the logged actions; there is nothing to weigh"
        if size == 0.0
        else "a few episodes decide everything; the estimate can be off by any amount"
    )
    advice = "use a method that learns q (fqe), or a log by a policy nearer to this one"
    return Finding("effective-sample-size", "severe", f"{message}: {why}", advice, numbers)


def few_episodes(e: Evidence) -> Finding | None:
    episodes = e.problem.dataset.num_episodes
    if episodes >= FEW_EPISODES:
        return None
    one = episodes < 2
    return Finding(
        "few-episodes",
        "severe" if one else "warning",
        f"only {episodes} logged episodes: the initial states are hardly sampled"
        + (", and nothing can be resampled" if one else ""),
        "log more episodes; the interval is widened for their number, but cannot show what none of them did",
        {"episodes": episodes},
    )


def truncation(e: Evidence) -> Finding | None:
    if e.estimated.q is None:
        return None  # what does not look beyond a cut-off says so itself
    data, gamma = e.problem.dataset, e.problem.gamma
    lengths = np.diff(data.starts)
    ended = np.zeros(data.num_episodes, bool)
    some = lengths > 0
    ended[some] = data.terminations[data.starts[1:][some] - 1]
    cut = float((~ended).mean())
    beyond = float(np.where(ended, 0.0, gamma ** lengths.astype(np.float64)).mean())
    if cut < MOSTLY_CUT or beyond < BEYOND:
        return None
    return Finding(
        "truncation",
        "warning",
        f"{cut:.0%} of the episodes were cut off, and {beyond:.0%} of the discounted weight lies beyond the cuts, "
        "where only q speaks",
        "log longer episodes or lower γ; if these cuts are real ends of the task, mark them as terminations",
        {"cut": cut, "beyond": beyond},
    )


def horizon(e: Evidence) -> Finding | None:
    data, steps = e.problem.dataset, 1.0 / (1.0 - e.problem.gamma)
    longest = int(np.diff(data.starts).max())
    if steps <= longest + 0.5:
        return None
    return Finding(
        "horizon",
        "note" if data.terminations.any() and not data.truncations.any() else "warning",
        f"γ = {e.problem.gamma:g} looks {steps:.4g} steps ahead, but the longest episode has {longest}",
        "lower γ, or log longer episodes; where every episode really ends this is no fault",
        {"horizon": steps, "longest": longest},
    )
