"""The policy similarity metric: pairs are alike where the evaluation policy acts alike. Rewards do not enter.

    d(x₁, x₂) = |p(x₁) − p(x₂)| + γ·E[ d(x₁', x₂') ],   a₁', a₂' ~ π_e independently

For discrete actions p(s, a) = π_e(a|s), as in the paper. A density, however, has no bound, has the unit of one over
an action, and differs by orders of magnitude between two actions that look much the same. For continuous actions

    p(s, a) = 1 / (1 + 1/w),   w = (π_e(a|s)·V)^(1/A),   V: volume of the box that the logged actions span,

takes its place: w compares π_e with a uniform choice of action, per coordinate. So p lies in [0, 1], does not
depend on the unit of the actions, and, as it grows with π_e(a|s), is the same for two pairs just where their
densities are. With one coordinate it is the probability that the action came from π_e and not from the uniform
choice, at even odds.
"""

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.errors import UserError
from ropeval.learning.engine import Run
from ropeval.policies import Policy
from ropeval.policies.policy import draw_actions, log_probs

NARROW = 1e-6  # the least width of a coordinate that the log never varied


class PsmConfig(SimilarityConfig):
    """Nothing beyond what all similarity metrics have."""


def check(dataset: Dataset, policy: Policy) -> None:
    """Refuse a policy that cannot tell how probable its actions are."""
    if policy.has_log_prob or (dataset.num_actions is not None and policy.deterministic):
        return
    why = "it is deterministic and has no density" if policy.deterministic else "it has no log_prob"
    raise UserError(
        f"policy {policy.name}: psm compares probabilities of actions, but {why}; "
        "use an encoder that only draws actions, such as rope"
    )


def policy_signal(problem: Problem) -> NDArray[np.float32]:
    """p(s, a) of every logged step, [N]."""
    dataset, policy = problem.dataset, problem.policy
    check(dataset, policy)
    if policy.deterministic:  # and discrete: π_e(a|s) is 0 or 1
        chosen = draw_actions(policy, dataset.observations, 1, np.random.default_rng(0))[:, 0]
        return (chosen == dataset.actions).astype(np.float32)
    log_prob = log_probs(policy, dataset.observations, dataset.actions)
    if dataset.num_actions is not None:
        return np.exp(log_prob).astype(np.float32)
    width = np.maximum(np.ptp(dataset.actions.astype(np.float64), axis=0), NARROW)  # [A]
    log_w = (log_prob + np.log(width).sum()) / len(width)
    return np.exp(-np.logaddexp(0.0, -log_w)).astype(np.float32)


def fit(problem: Problem, config: PsmConfig, run: Run) -> Encoded:
    rows = problem.transitions.rows._replace(reward=policy_signal(problem))  # type: ignore[arg-type]
    return fit_metric(problem, Metric(rows), config, run, "psm")


PSM = Encoder(
    config=PsmConfig,
    fit=fit,
    summary="similarity of how the evaluation policy acts; ignores rewards (a rival of rope)",
    presets={"paper": PAPER},
    spread=SPREAD,
    check=check,
)
