"""ROPE and its rivals: five metrics of state-action pairs, told apart by what they compare and by what comes next.

    rope            d(x₁, x₂) = |r₁ − r₂| + γ·E[ d(x₁', x₂') ],               a₁', a₂' ~ π_e independently
    rope-range      the same with c·|r₁ − r₂|, c chosen to fit the network
    mico            d(x₁, x₂) = |r₁ − r₂| + γ·E[ d(x₁', x₂') ],               a₁', a₂' ~ π_b independently
    psm             d(x₁, x₂) = |p(x₁) − p(x₂)| + γ·E[ d(x₁', x₂') ],         a₁', a₂' ~ π_e independently
    random-metric   d(x₁, x₂) = |r₁ − r₂| + γ·E[ d((s₁', a'), (s₂', a')) ],   a' ~ U(A), one for both sides

How such a distance is learned stands in `similarity.py`. A metric is a function from the problem to what is put into
the rows and the next pairs; its docstring says what it means.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.arrays import Booleans, Singles
from ropeval.data import Dataset, Problem
from ropeval.data.needs import PROBABILITIES, STOCHASTIC, Need, check_needs
from ropeval.encoders.encoder import Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.policies import Policy
from ropeval.policies.policy import log_probs

NARROW = 1e-6  # the least width of a coordinate that the log never varied


class RopeRangeConfig(SimilarityConfig):
    """ROPE in the range of its own head. A departure from the paper, measured to matter.

    LayerNorm and tanh bound ‖φ‖² by d, and so d̃ by d + βπ. The metric that ROPE asks for has the mean

        E[d] = E|r₁ − r₂| / (1 − γ)          (over pairs, if the next pairs are distributed like the pairs)

    which at γ = 0.99 is a hundred times the typical difference of two rewards. Where that lies above the bound, all
    that the loss can do is to push every feature to ±1. Here the short-term distance is scaled,

        d(x₁, x₂) = c·|r₁ − r₂| + γ·E[ d(x₁', x₂') ],      c = (1 − γ)·(d/2) / E|r₁ − r₂|,

    so that E[d] = d/2, the middle of what ½(‖φ(x₁)‖² + ‖φ(x₂)‖²) can express. A metric times a constant groups pairs
    just as the metric does. The rivals of ROPE have the same head and the same need: `match_range` does it for all.
    """

    match_range: bool = True


# --- ROPE -----------------------------------------------------------------------------------------------------


def rope(problem: Problem) -> Metric:
    """The evaluation policy's own behavioural distance: the signal is the reward, the next actions are π_e's."""
    return Metric(problem.transitions)


# --- MICo -----------------------------------------------------------------------------------------------------


def mico(problem: Problem) -> Metric:
    """On-policy: similarity under the behaviour that made the log, not under the policy that is evaluated.

    The log holds π_b's own next actions: those of the next row of the same episode. Where the episode terminated no
    action follows, but the row's reward may be all that the log is about, so the row stays: an action of a random row
    stands in, as the authors' convention (termination does not cut the distance) asks for some action there. The last
    row of a cut-off episode is left out.
    """
    dataset = problem.dataset
    check_needs("mico", (NEXT_ACTIONS,), dataset, problem.policy)
    known = followed(dataset)
    keep = np.flatnonzero(known | dataset.terminations)  # [n]
    stand_in = np.random.default_rng(0).integers(len(dataset), size=len(keep))
    return Metric(problem.with_logged_actions(keep, np.where(known[keep], keep + 1, stand_in)))


def followed(dataset: Dataset) -> Booleans:
    """[N] whether the next row holds the action taken in this row's next state."""
    known = np.ones(len(dataset), bool)
    known[dataset.last_rows] = False
    return known


def _no_next_actions(dataset: Dataset, policy: Policy) -> str | None:
    if (followed(dataset) | dataset.terminations).any():
        return None
    return f"{dataset.name}: no step of this log is followed by another of its episode"


NEXT_ACTIONS = Need(
    "the behaviour's next action", _no_next_actions, "use an encoder that asks the evaluation policy, such as rope"
)


# --- PSM ------------------------------------------------------------------------------------------------------


def psm(problem: Problem) -> Metric:
    """The policy similarity metric: pairs are alike where the evaluation policy acts alike. Rewards do not enter."""
    return Metric(problem.transitions.with_reward(policy_signal(problem)))


def policy_signal(problem: Problem) -> Singles:
    """p(s, a) of every logged step, [N].

    For discrete actions p(s, a) = π_e(a|s), as in the paper. A density, however, has no bound, has the unit of one
    over an action, and differs by orders of magnitude between two actions that look much the same. For continuous
    actions

        p(s, a) = 1 / (1 + 1/w),   w = (π_e(a|s)·V)^(1/A),   V: volume of the box that the logged actions span,

    takes its place: w compares π_e with a uniform choice of action, per coordinate. So p lies in [0, 1], does not
    depend on the unit of the actions, and, as it grows with π_e(a|s), is the same for two pairs just where their
    densities are. With one coordinate it is the probability that the action came from π_e and not from the uniform
    choice, at even odds.
    """
    dataset, policy = problem.dataset, problem.policy
    check_needs("psm", (STOCHASTIC, PROBABILITIES), dataset, policy)
    log_prob = log_probs(policy, dataset.observations, dataset.actions)
    if dataset.num_actions is not None:
        return np.exp(log_prob).astype(np.float32)
    width = np.maximum(np.ptp(dataset.actions.astype(np.float64), axis=0), NARROW)  # [A]
    log_w = (log_prob + np.log(width).sum()) / len(width)
    return np.exp(-np.logaddexp(0.0, -log_w)).astype(np.float32)


# --- the random-policy metric ---------------------------------------------------------------------------------


def random_metric(problem: Problem) -> Metric:
    """Similarity when both sides are taken on by the same uniformly random action.

    It says how alike two pairs are under any behaviour, and nothing about the policy that is evaluated. Every step
    draws fresh actions: from the box that the log's actions span, or from the discrete set.
    """
    return Metric(problem.transitions.first_draw(), shared_action(problem))


@dataclass(frozen=True)
class SharedAction:
    """Puts one uniformly random action into both next pairs of a pair. A value, so that programs are reused."""

    states: int  # columns before those of the action
    choices: int | None  # number of discrete actions, or
    low: tuple[float, ...] = ()  # the box of continuous ones
    high: tuple[float, ...] = ()

    def __call__(self, next_x: Array, key: Array, weight: Array | None = None) -> Array:
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
    offset, size = problem.log.action_units or (0.0, 1.0)
    low, high = ((end - offset) / size for end in (space.low, space.high))
    return SharedAction(space.observation_size, None, tuple(low.tolist()), tuple(high.tolist()))


# --- the entries ----------------------------------------------------------------------------------------------


def _entry(
    name: str,
    metric: Callable[[Problem], Metric],
    summary: str,
    config: type[SimilarityConfig] = SimilarityConfig,
    needs: tuple[Need, ...] = (),
) -> Encoder:
    return Encoder(
        name, config, partial(fit_metric, metric), summary, presets={"paper": PAPER}, needs=needs, spread=SPREAD
    )


METRICS = (
    _entry("rope", rope, "state-action similarity under the evaluation policy (the paper's representation)"),
    _entry(
        "rope-range", rope, "rope with its metric scaled to the range that the network can express", RopeRangeConfig
    ),
    _entry("mico", mico, "state-action similarity under the behaviour policy (a rival of rope)", needs=(NEXT_ACTIONS,)),
    _entry(
        "psm",
        psm,
        "similarity of how the evaluation policy acts; ignores rewards (a rival of rope)",
        needs=(STOCHASTIC, PROBABILITIES),
    ),
    _entry(
        "random-metric",
        random_metric,
        "state-action similarity under one random action on both sides (a rival of rope)",
    ),
)
