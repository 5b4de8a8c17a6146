"""MICo, on-policy: similarity under the behaviour that made the log, not under the policy that is evaluated.

    d(x₁, x₂) = |r₁ − r₂| + γ·E[ d(x₁', x₂') ],   a₁', a₂' ~ π_b independently

The log holds π_b's own next actions: those of the next row of the same episode.
"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.transitions import Problem, Rows
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.errors import UserError
from ropeval.learning.engine import Run
from ropeval.policies import Policy


class MicoConfig(SimilarityConfig):
    """Nothing beyond what all similarity metrics have."""


def followed(dataset: Dataset) -> NDArray[np.bool_]:
    """[N] whether the next row holds the action taken in this row's next state."""
    known = np.ones(len(dataset), bool)
    last = dataset.starts[1:][np.diff(dataset.starts) > 0] - 1  # episodes may hold no row at all
    known[last] = False
    return known


def check(dataset: Dataset, policy: Policy) -> None:
    if not (followed(dataset) | dataset.terminations).any():
        raise UserError(
            f"{dataset.name}: mico needs the behaviour's next action, but no step of this log is followed by "
            "another of its episode; use an encoder that asks the evaluation policy, such as rope"
        )


def behaviour_rows(problem: Problem) -> Rows:
    """The rows whose next action is known, with that action.

    Where the episode terminated no action follows, but the row's reward may be all that the log is about, so the
    row stays: an action of a random row stands in, as the authors' convention (termination does not cut the
    distance) asks for some action there. The last row of a cut-off episode is left out.
    """
    dataset, rows = problem.dataset, problem.transitions.rows
    check(dataset, problem.policy)
    size = dataset.observations.shape[1]
    known = followed(dataset)
    keep = np.flatnonzero(known | dataset.terminations)  # [n]
    stand_in = np.random.default_rng(0).integers(len(dataset), size=len(keep))
    following = np.where(known[keep], keep + 1, stand_in)
    reward, discount = np.asarray(rows.reward)[keep], np.asarray(rows.discount)[keep]
    if problem.transitions.streamed:
        x = replace(rows.x, state_rows=keep, action_rows=keep)
        states = rows.next_x.observations
        pairs = replace(x, observations=states, actions=rows.x.actions[:, None], action_rows=following)
        return Rows(x, pairs, reward, discount)  # type: ignore[arg-type]
    x, next_x = np.asarray(rows.x), np.asarray(rows.next_x)
    # The action's columns come from the row that follows, the state's from the logged next state.
    pairs = np.concatenate([next_x[keep, 0, :size], x[following, size:]], axis=-1)
    return Rows(x[keep], pairs[:, None, :], reward, discount)  # type: ignore[arg-type]


def kept_starts(dataset: Dataset) -> NDArray[np.int64]:
    """[E + 1] where each episode starts among the rows that are kept."""
    return np.searchsorted(np.flatnonzero(followed(dataset) | dataset.terminations), dataset.starts)


def fit(problem: Problem, config: MicoConfig, run: Run) -> Encoded:
    metric = Metric(behaviour_rows(problem), starts=jnp.asarray(kept_starts(problem.dataset)))
    return fit_metric(problem, metric, config, run, "mico")


MICO = Encoder(
    config=MicoConfig,
    fit=fit,
    summary="state-action similarity under the behaviour policy (a rival of rope)",
    presets={"paper": PAPER},
    spread=SPREAD,
    check=check,
)
