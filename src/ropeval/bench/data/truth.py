"""True values by playing, under both definitions: the discounted return, and the mean reward per step over 1 − γ.

The paper states the first and its code computes the second, so every score is kept against both, never mixed.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from ropeval.bench.data.episodes import Episode

Floats = NDArray[np.float64]


class Value(BaseModel):
    model_config = ConfigDict(frozen=True)

    value: float
    standard_error: float


class PolicyTruth(BaseModel):
    """What one policy is worth."""

    model_config = ConfigDict(frozen=True)

    discounted: Value  # E Σ γ^t r_t from the first state on
    mean_reward: Value  # E Σ r_t / E T / (1 − γ), over episodes as the log has them
    mean_return: float  # undiscounted
    mean_length: float
    episodes: int
    policy_sha256: str | None = None
    name: str = ""


class Truth(BaseModel):
    """The true values of a task."""

    model_config = ConfigDict(frozen=True)

    gamma: float
    evaluated: PolicyTruth
    behaviour: PolicyTruth
    random: PolicyTruth


def summarise_episode(episode: Episode, gamma: float, time_limit: int | None) -> tuple[float, float, int]:
    """Discounted return, and sum of rewards and number of steps within the time limit of the log's episodes."""
    discounted = float(episode.rewards @ gamma ** np.arange(len(episode)))
    within = episode.rewards[:time_limit]
    return discounted, float(within.sum()), len(within)


def policy_truth(summaries: Floats, gamma: float, name: str, sha256: str | None) -> PolicyTruth:
    """Both values from what `summarise_episode` says of many episodes, [n, 3]."""
    discounted, returns, lengths = summaries.T
    per_step = returns.sum() / lengths.sum()
    # A ratio of two means: its standard error by the delta method.
    residuals = (returns - per_step * lengths) / lengths.mean()
    return PolicyTruth(
        discounted=Value(value=float(discounted.mean()), standard_error=_standard_error(discounted)),
        mean_reward=Value(value=float(per_step / (1 - gamma)), standard_error=_standard_error(residuals) / (1 - gamma)),
        mean_return=float(returns.mean()),
        mean_length=float(lengths.mean()),
        episodes=len(summaries),
        policy_sha256=sha256,
        name=name,
    )


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
