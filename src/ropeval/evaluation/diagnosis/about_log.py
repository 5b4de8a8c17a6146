"""Doubts about the log, and about how the policy goes with it: one small function each."""

import numpy as np

from ropeval.data import Dataset
from ropeval.evaluation.diagnosis.clock import clock_ends
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import Finding, Severity

OUTSIDE, FAR_OUTSIDE = 0.3, 0.7  # share of the policy's pairs; 0.05 is what the log's own pairs have
FEW_EFFECTIVE, MANY_EFFECTIVE = 10.0, 1_000.0  # episodes: an average of anecdotes; enough, whatever their share is
LOW_SHARE, TOO_LOW_SHARE = 0.1, 0.03  # of effective episodes: what weighs most has hardly been seen
MEAN_OFF, MEAN_FAR_OFF = 1.5, 3.0  # factor, either way, between the mean weight and 1
FAVOURED = 1.25  # factor, either way, between weighted and plain lengths of episodes
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
    size, per_decision, mean, largest, length = e.estimated.effective
    episodes = e.problem.dataset.num_episodes
    kind = " (discounted mean over time)" if per_decision else ""
    shown = f"{size:,.0f}" if size >= 100 else f"{size:.3g}"
    message = f"effective sample size {shown} of {episodes:,} episodes{kind}, mean weight {mean:.3g} (1 is right)"
    numbers = {"effective": size, "episodes": episodes, "mean": mean, "largest": largest, "length": length}
    severity = weight_severity(size, episodes, mean)
    if severity == "note":
        return Finding("effective-sample-size", severity, message, "", numbers)
    if size == 0.0:
        why = "the policy never takes the logged actions; there is nothing to weigh"
    elif severity == "severe":
        why = "a few episodes decide everything; the estimate can be off by any amount"
    else:
        why = f"a hundredth of the episodes carries {largest:.0%} of the weight"
    if not 1.0 / FAVOURED < length < FAVOURED:
        why += f"; {'long' if length > 1.0 else 'short'} episodes are favoured"
    advice = "use a method that learns q (fqe), or a log by a policy nearer to this one"
    return Finding("effective-sample-size", severity, f"{message}: {why}", advice, numbers)


def weight_severity(size: float, episodes: int, mean: float) -> Severity:
    """Few effective episodes leave much to chance. A small share of them, or a mean far from 1, says that the episodes
    which would weigh most are missing from the log, and no number of others makes up for those."""
    off = max(mean, 1.0 / mean) if mean > 0.0 else np.inf
    share = 1.0 if size >= MANY_EFFECTIVE else size / episodes
    if (size < FEW_EFFECTIVE and share < 0.9) or share < TOO_LOW_SHARE or off > MEAN_FAR_OFF:
        return "severe"
    return "warning" if share < LOW_SHARE or off > MEAN_OFF else "note"


def few_episodes(e: Evidence) -> Finding | None:
    episodes = e.problem.dataset.num_episodes
    if episodes >= FEW_EPISODES:
        return None
    one = episodes < 2
    return Finding(
        "few-episodes",
        "severe" if one else "warning",
        f"only {episodes} logged episode{'' if one else 's'}: the initial states are hardly sampled"
        + (", and nothing can be resampled" if one else ""),
        "log more episodes; the interval is widened for their number, but cannot show what none of them did",
        {"episodes": episodes},
    )


def truncation(e: Evidence) -> Finding | None:
    if e.estimated.q is None:
        return None  # what does not look beyond a cut-off says so itself
    cut, beyond = cut_off(e.problem.dataset), e.problem.log.beyond_cuts
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


def clock(e: Evidence) -> Finding | None:
    if e.estimated.q is None and "support" not in e.estimated.extras:
        return None  # who learns neither q nor a simulator does not ask when an episode ends
    found = clock_ends(e.problem.log)
    if found is None:
        return None
    return Finding(
        "clock",
        "warning",
        f"{found.share:.0%} of the episodes end after exactly {found.steps} steps, and neither state nor action tells "
        "that they will: whoever asks the state when an episode ends takes every step for as likely the last",
        "add the step number to the observations, if the policy can take it; or mark these ends as truncations and "
        f"count {found.steps} steps (horizon)",
        found._asdict(),
    )


def cut_off(data: Dataset) -> float:
    """The share of the episodes that did not end by themselves."""
    return 1.0 - float(np.sum(data.terminations[data.last_rows])) / data.num_episodes


def horizon(e: Evidence) -> Finding | None:
    data, steps = e.problem.dataset, e.problem.horizon or 1.0 / (1.0 - e.problem.gamma)
    longest = int(np.diff(data.starts).max())
    if steps <= longest + 0.5:
        return None
    asked, shorter = f"γ = {e.problem.gamma:g}", "lower γ"
    if e.problem.horizon is not None:
        asked, shorter = "the horizon", "shorten the horizon"
    return Finding(
        "horizon",
        # Where episodes mostly end by themselves it says nothing about the estimate: docs/guide/trust.md has the count.
        "warning" if cut_off(data) >= MOSTLY_CUT else "note",
        f"{asked} looks {steps:.4g} steps ahead, but the longest episode has {longest}",
        f"{shorter}, or log longer episodes; where every episode really ends this is no fault",
        {"horizon": steps, "longest": longest},
    )
