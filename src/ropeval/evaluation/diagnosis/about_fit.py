"""Doubts about what was learned: one small function each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Transitions
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import Finding
from ropeval.learning.engine import DIVERGED_AT_BOUNDS

Floats = NDArray[np.float64]
DRIFT = 0.05  # of the estimate, over the last quarter of the training, beyond which it had not settled
COLLAPSED_STD = 0.05  # tanh features that tell states apart vary by 0.1 to 0.6
SATURATED_SIZE = 0.95  # and have a mean size well below 1
LOW_RANK = 1.5  # directions in which the features vary
FEATURE_ROWS = 2_000
OVERFITTED = 1.5  # rms of the residual on unseen episodes, against that on seen ones
RESIDUAL_SHARE, RESIDUAL_ERRORS = 0.1, 4.0  # a mean residual worth so much of the estimate, and not by chance
RESIDUAL_ROWS = 2_000
FALLEN_BACK = (0.1, 0.5)  # share of an estimate that is the log's own: worth a warning, and a guess
SUPPORTED = (0.8, 0.3)  # share of the rollouts that the log speaks about, likewise


def divergence(e: Evidence) -> Finding | None:
    lost, count = int(e.diverged.sum()), len(e.diverged)
    if lost:
        kept = "there is no estimate" if lost == count else "they are left out of the estimate"
        return Finding(
            "divergence",
            "severe",
            f"{lost} of {count} members diverged (not finite, or beyond {DIVERGED_AT_BOUNDS:g} times max|r|/(1−γ)); "
            f"{kept}",
            "try fqe-ln or fqe-clip, or a smaller learning rate",
            {"diverged": lost, "members": count},
        )
    if e.estimated.replicates is None:
        return None
    lost, count = int((~np.isfinite(e.estimated.replicates)).sum()), len(e.estimated.replicates)
    if not lost:
        return None
    return Finding(
        "divergence",
        "severe" if lost > 0.1 * count else "warning",
        f"on {lost} of {count} resampled logs there is no estimate; the interval is that of the others",
        "believe a method that always has one",
        {"diverged": lost, "replicates": count},
    )


def out_of_bounds(e: Evidence) -> Finding | None:
    if e.value is None:
        return None
    rewards, horizon = e.problem.dataset.rewards, 1.0 / (1.0 - e.problem.gamma)
    low, high = (horizon * float(r) for r in (rewards.min(), rewards.max()))
    if e.problem.dataset.terminations.any():  # an episode that ends earns nothing more
        low, high = min(low, 0.0), max(high, 0.0)
    slack = 0.01 * max(abs(low), abs(high))  # a fit is never exact: a constant reward would always trip the bound
    if low - slack <= e.value <= high + slack or low == high == 0.0:
        return None
    return Finding(
        "out-of-bounds",
        "severe",
        f"the estimate lies outside [{low:.4g}, {high:.4g}], all that the logged rewards allow",
        "do not use it; fqe-clip keeps to the bounds, and lspe or fqe-ln often do",
        {"low": low, "high": high, "value": e.value},
    )


def support(e: Evidence) -> Finding | None:
    """Where a simulator stops knowing, what it says is the log's own."""
    told = e.estimated.extras
    if "fallback" not in told or (told["fallback"] <= FALLEN_BACK[0] and told["support"] >= SUPPORTED[0]):
        return None
    severe = told["fallback"] > FALLEN_BACK[1] or told["support"] < SUPPORTED[1]
    return Finding(
        "support",
        "severe" if severe else "warning",
        f"the log speaks about {told['support']:.0%} of what the policy would do (by discounted time); "
        f"{told['fallback']:.0%} of the number is what the log itself earned",
        "read it as a guess" if severe else "read it with care, and log more of what the policy does",
        {name: told[name] for name in ("support", "fallback", "apart")},
    )


def collapse(e: Evidence) -> Finding | None:
    return None if e.features is None else collapsed(e.features)


def collapsed(encoded: Transitions) -> Finding | None:
    """Features that hardly vary, or that are mere signs, tell too few states apart for q to be right."""
    return _collapse_of(_judge(encoded))


def collapsed_members(encoded: Transitions) -> list[Finding | None]:
    """The same of each member; empty where they share their features."""
    return [_collapse_of([judged]) for judged in _judge(encoded)]


class Judged(NamedTuple):
    """What one member's features are like; NaN where they are not finite, which divergence says."""

    std: float
    size: float
    rank: float
    dim: int  # features of the member's own
    flat: bool
    signs: bool


def _judge(encoded: Transitions) -> list[Judged]:
    rows = np.arange(0, encoded.size, max(1, encoded.size // FEATURE_ROWS))
    own = [encoded.block(rows, member)[0].astype(np.float64) for member in range(encoded.members or 0)]  # [n, d] each
    finite = [bool(np.isfinite(features).all()) for features in own]
    # By the head of the encoder: that of all members or of none.
    bounded = all(float(np.abs(f).max()) <= 1.0 + 1e-6 for f, known in zip(own, finite, strict=True) if known)
    found = []
    for features, known in zip(own, finite, strict=True):
        std, size, rank = feature_statistics(features) if known else (np.nan,) * 3
        flat = (bounded and std < COLLAPSED_STD) or rank < LOW_RANK
        signs = bounded and not flat and size > SATURATED_SIZE
        found.append(Judged(std, size, rank, int((features != 0.0).any(axis=0).sum()), flat, signs))
    return found


def _collapse_of(judged: list[Judged]) -> Finding | None:
    flat = [one for one in judged if one.flat]
    which = flat or [one for one in judged if one.signs]
    if not which:
        return None
    several, dim = len(judged) > 1, max(one.dim for one in judged)
    std, size, rank = (float(np.median([getattr(one, name) for one in which])) for name in ("std", "size", "rank"))
    what = (
        f"collapsed ({'median ' if several else ''}feature std {std:.3g}, effective rank {rank:.2g} of {dim})"
        if flat
        else f"saturated (mean |feature| {size:.3g} of at most 1, so that each is hardly more than a sign)"
    )
    where = f" in {len(which)} of {len(judged)} members" if several else ""
    return Finding(
        "collapse",
        "severe" if flat else "warning",
        f"the representation {what}{where}: it tells few states apart, and the estimate drifts to the log's mean "
        "reward/(1−γ)",
        "compare with mean-reward; use fqe on the native representation, or rope-range",
        {
            "feature_std": float(np.nanmedian([one.std for one in judged])),
            "feature_size": float(np.nanmedian([one.size for one in judged])),
            "effective_rank": float(np.nanmedian([one.rank for one in judged])),
            "dim": dim,
            "members": len(which),
        },
    )


def feature_statistics(features: Floats) -> tuple[float, float, float]:
    """(mean std, mean size, effective rank) of features [n, d]; the rank is exp of the entropy of the covariance's
    eigenvalues (Roy and Vetterli 2007), the number of directions in which they vary. Columns of zeros do not count:
    members with shorter encodings than others are filled up with them."""
    features = features[:, (features != 0.0).any(axis=0)]
    if not features.size:
        return 0.0, 0.0, 1.0
    centred = features - features.mean(axis=0, keepdims=True)
    values = np.maximum(np.linalg.eigvalsh(centred.T @ centred / len(features)), 0.0)
    share = values[values > 0.0] / values.sum() if values.sum() > 0.0 else np.ones(1)
    rank = float(np.exp(-(share * np.log(share)).sum()))
    return float(features.std(axis=0).mean()), float(np.abs(features).mean()), rank


def not_converged(e: Evidence) -> Finding | None:
    """The estimate's drift over the last quarter of its training, against its size."""
    if e.value is None:
        return None
    for run in e.trained.values():
        if "estimate" not in run.curves or e.diverged.all():
            continue
        curve = run.curves["estimate"][:, ~e.diverged].mean(axis=1)  # [C]
        quarter = len(curve) // 4
        if quarter < 2:
            continue
        half = quarter // 2
        before, after = float(curve[-quarter:-half].mean()), float(curve[-half:].mean())
        if abs(after - before) > DRIFT * max(abs(after), 1e-12):
            return Finding(
                "not-converged",
                "warning",
                f"training had not settled: the estimate moved from {before:.4g} to {after:.4g} over the last quarter",
                "use more --steps",
                {"before": before, "after": after},
            )
    return None


def bellman_residual(e: Evidence) -> Finding | None:
    """r + γq' − q on the episodes that a member's resample left out, about a third of them."""
    if e.estimated.q is None or e.value is None or e.run.counts is None or e.estimated.replicates is not None:
        return None
    data = e.problem.dataset
    rows = np.arange(len(data))[:: max(1, len(data) // RESIDUAL_ROWS)]
    episode = np.searchsorted(data.starts, rows, side="right") - 1
    values, backups = e.estimated.q.backup(rows)  # [M, n]
    errors = backups - values
    unseen = e.run.counts[:, episode] == 0  # [M, n]
    if not unseen.any(axis=1).all() or unseen.all(axis=1).any():
        return None
    errors, unseen = errors[~e.diverged], unseen[~e.diverged]
    held_out, seen = (float(np.sqrt((errors[which] ** 2).mean())) for which in (unseen, ~unseen))
    # Means by episode, since the steps of one hang together: the error of their mean is that of a mean of episodes.
    counts = np.array([np.bincount(episode[own], minlength=data.num_episodes) for own in unseen])
    sums = np.array(
        [np.bincount(episode[own], row[own], data.num_episodes) for own, row in zip(unseen, errors, strict=True)]
    )
    by_episode = sums.sum(axis=0)[counts.sum(axis=0) > 0] / counts.sum(axis=0)[counts.sum(axis=0) > 0]
    mean, error = float(by_episode.mean()), float(by_episode.std() / np.sqrt(len(by_episode)))
    worth = mean / (1.0 - e.problem.gamma)
    numbers = {"held_out": held_out, "seen": seen, "mean": mean, "worth": worth}
    if abs(worth) > RESIDUAL_SHARE * abs(e.value) and abs(mean) > RESIDUAL_ERRORS * error:
        return Finding(
            "bellman-residual",
            "warning",
            f"on episodes that q has not seen it is off by {mean:.3g} per step on average, which adds up to "
            f"{worth:.4g}",
            "train longer or with another representation; the estimate is probably off by a similar amount",
            numbers,
        )
    if held_out > OVERFITTED * seen:
        return Finding(
            "bellman-residual",
            "warning",
            f"q has learned its episodes by heart: its Bellman residual is {held_out:.3g} on unseen and {seen:.3g} on "
            "seen ones",
            "use fewer --steps, a smaller width, or more data",
            numbers,
        )
    return None
