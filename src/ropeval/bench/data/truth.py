"""True values, played or exact, under both definitions: the discounted return, and the mean reward per step over 1 − γ.

The paper states the first and its code computes the second, so every score is kept against both, never mixed.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, model_validator

from ropeval.bench.data.episodes import Episode
from ropeval.policies.policy import Policy

Floats = NDArray[np.float64]
LARGEST_ERROR = 0.005  # of the range of true values; a larger standard error is flagged


class Value(BaseModel, frozen=True):
    value: float
    standard_error: float


class PolicyTruth(BaseModel, frozen=True):
    """What one policy is worth."""

    discounted: Value  # E Σ γ^t r_t from the first state on
    mean_reward: Value  # E Σ r_t / E T / (1 − γ), over episodes as the log has them
    mean_return: float  # undiscounted
    mean_length: float
    episodes: int  # played; none where the values are exact
    policy_sha256: str | None = None
    name: str = ""


class Truth(BaseModel, frozen=True):
    """The true values of a task's policies, by name."""

    gamma: float
    policies: dict[str, PolicyTruth]
    imprecise: tuple[str, ...] = ()  # those whose standard error is too large for what is compared with it

    @model_validator(mode="before")
    @classmethod
    def _earlier_form(cls, found: Any) -> Any:
        """Before there were several policies to judge, the three were fields."""
        if isinstance(found, dict) and "evaluated" in found:
            return {"gamma": found.get("gamma"), "policies": {k: v for k, v in found.items() if k != "gamma"}}
        return found

    @property
    def random(self) -> PolicyTruth:
        return self.policies["random"]


def make_truth(gamma: float, policies: dict[str, PolicyTruth], judged: Iterable[str]) -> Truth:
    """Flags every judged policy whose standard error exceeds half a percent of the range of the values.

    The range is that of the judged policies, or what separates the only one from the random policy.
    """
    names = [name for name in judged if name in policies]
    compared = [policies[name] for name in (names if len(names) > 1 else [*names, "random"])]
    imprecise = set()
    for definition in ("discounted", "mean_reward"):
        values = [getattr(one, definition).value for one in compared]
        largest = LARGEST_ERROR * (max(values) - min(values))
        imprecise |= {name for name in names if getattr(policies[name], definition).standard_error > largest}
    return Truth(gamma=gamma, policies=policies, imprecise=tuple(name for name in names if name in imprecise))


class Answer(NamedTuple):
    """What an environment that knows says of a policy, in expectation."""

    discounted: float  # Σ γ^t r_t, without any time limit
    total: float  # Σ r_t over an episode as a log has it,
    length: float  # and its length
    standard_error: float = 0.0  # of the first two, where they were integrated numerically


class KnowsAnswer(Protocol):
    """An environment that tells what a policy is worth. It may ask the policy anything.

    Either by arithmetic, or by what `summarise_episode` would say of very many episodes, [n, 3].
    """

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> Answer | Floats: ...


def answered_truth(answer: Answer | Floats, gamma: float, name: str, sha256: str | None) -> PolicyTruth:
    """An environment's answer as a true value; by arithmetic, no episode was played for it."""
    if not isinstance(answer, Answer):
        return policy_truth(answer, gamma, name, sha256)
    per_step = 1 / answer.length / (1 - gamma)
    return PolicyTruth(
        discounted=Value(value=answer.discounted, standard_error=answer.standard_error),
        mean_reward=Value(value=answer.total * per_step, standard_error=answer.standard_error * per_step),
        mean_return=answer.total,
        mean_length=answer.length,
        episodes=0,
        policy_sha256=sha256,
        name=name,
    )


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
        discounted=Value(value=float(discounted.mean()), standard_error=standard_error(discounted)),
        mean_reward=Value(value=float(per_step / (1 - gamma)), standard_error=standard_error(residuals) / (1 - gamma)),
        mean_return=float(returns.mean()),
        mean_length=float(lengths.mean()),
        episodes=len(summaries),
        policy_sha256=sha256,
        name=name,
    )


def standard_error(values: Floats) -> float:
    """Of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
