"""The random-policy metric: similarity when both sides are taken on by the same uniformly random action.

    d(x₁, x₂) = |r₁ − r₂| + γ·E[ d((s₁', a'), (s₂', a')) ],   a' ~ U(A), one for both sides

It says how alike two pairs are under any behaviour, and nothing about the policy that is evaluated. Every step
draws fresh actions: from the box that the log's actions span, or from the discrete set.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.learning.engine import Run


class RandomMetricConfig(SimilarityConfig):
    """Nothing beyond what all similarity metrics have."""


@dataclass(frozen=True)
class SharedAction:
    """Puts one uniformly random action into both next pairs of a pair. A value, so that programs are reused."""

    states: int  # columns before those of the action
    choices: int | None  # number of discrete actions, or
    low: tuple[float, ...] = ()  # the box of continuous ones
    high: tuple[float, ...] = ()

    def __call__(self, next_x: Array, key: Array) -> Array:
        """next_x [2, batch, K, X] → [2, batch, X]; only the state's columns are read, which all K share."""
        rows = next_x.shape[1]
        if self.choices is not None:
            action = jax.nn.one_hot(jax.random.randint(key, (rows,), 0, self.choices), self.choices)
        else:
            low, high = jnp.asarray(self.low)[None], jnp.asarray(self.high)[None]
            action = jax.random.uniform(key, (rows, len(self.low)), minval=low, maxval=high)  # [batch, A]
        return jnp.concatenate([next_x[:, :, 0, : self.states], jnp.stack([action, action])], axis=-1)


def shared_action(problem: Problem) -> SharedAction:
    space, dim = problem.dataset.space, problem.transitions.dim
    if space.discrete:
        return SharedAction(space.observation_size, dim - space.observation_size)
    assert space.low is not None
    assert space.high is not None
    return SharedAction(space.observation_size, None, tuple(space.low.tolist()), tuple(space.high.tolist()))


def fit(problem: Problem, config: RandomMetricConfig, run: Run) -> Encoded:
    rows = problem.transitions.rows
    first = rows.next_x.first_draw() if problem.transitions.streamed else rows.next_x[:, :1]
    metric = Metric(rows._replace(next_x=first), next_pair=shared_action(problem))
    return fit_metric(problem, metric, config, run, "random-metric")


RANDOM_METRIC = Encoder(
    config=RandomMetricConfig,
    fit=fit,
    summary="state-action similarity under one random action on both sides (a rival of rope)",
    presets={"paper": PAPER},
    spread=SPREAD,
)
