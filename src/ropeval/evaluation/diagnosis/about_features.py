"""Doubts about what an encoder made of the log: features that tell too few states apart."""

from typing import NamedTuple

import numpy as np

from ropeval.arrays import Floats
from ropeval.data import Transitions
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import Finding

COLLAPSED_STD = 0.05  # tanh features that tell states apart vary by 0.1 to 0.6
SATURATED_SIZE = 0.95  # and have a mean size well below 1
LOW_RANK = 1.5  # directions in which the features vary
FEATURE_ROWS = 2_000


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
