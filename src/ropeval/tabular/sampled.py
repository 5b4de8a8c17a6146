"""The same objects from samples: what a log of m transitions makes of q and of the ROPE distance.

On a table, fitted Q-evaluation has no approximation left: regressing on one-hot pairs gives each pair the mean
of its targets, so its fixed point is the exact q of the MDP of the counts. The sampled ROPE operator averages

    |r_i − r_j| + γ E_{a'~π_e}[d(s_i', a'; s_j', a')]     over all logged i in x and j in y,

and this is the exact operator of the MDP of the counts, as long as the reward of a pair does not vary. Where it
does, the mean of |r_i − r_j| is E|R_x − R_y|, larger than the |r(x) − r(y)| of the definition, and no amount of
data removes the difference: `rewards="samples"` computes that biased operator, the one the paper's loss samples.
"""

import itertools
from typing import Literal

import numpy as np
import numpy.typing as npt

from ropeval.tabular.estimated import Outcomes, from_log
from ropeval.tabular.mdp import Array, TabularMDP
from ropeval.tabular.metrics import StateActionMetric, rope
from ropeval.tabular.solve import action_values


def sample_log(mdp: TabularMDP, pairs: npt.ArrayLike, m: int, rng: np.random.Generator, noise: float = 0.0) -> Outcomes:
    """m independent transitions: pairs drawn from the weights `pairs` [S, A], rewards r(s, a) + noise·N(0, 1)."""
    weights = np.where(mdp.terminal[:, None], 0.0, np.asarray(pairs, dtype=np.float64)).reshape(-1)
    x = rng.choice(mdp.num_pairs, size=m, p=weights / weights.sum())
    reach = mdp.pair_transitions.cumsum(axis=1)  # [N, S]
    uniform = rng.random(m) * reach[x, -1]  # the last entry is one up to rounding
    next_state = (reach[x] <= uniform[:, None]).sum(axis=1)
    return Outcomes(
        state=x // mdp.num_actions,
        action=x % mdp.num_actions,
        reward=mdp.r.reshape(-1)[x] + noise * rng.standard_normal(m),
        next_state=next_state,
        done=mdp.terminal[next_state],
        weight=np.ones(m),
    )


def counted(log: Outcomes, like: TabularMDP) -> TabularMDP:
    """The MDP of the counts, with the sizes, γ and d0 of `like`; pairs never seen stay put with reward 0."""
    return from_log(
        log.state,
        log.action,
        log.reward,
        log.next_state,
        log.done,
        num_states=like.num_states,
        num_actions=like.num_actions,
        gamma=like.gamma,
        d0=like.d0,
        unvisited="stay",
    )


def fqe_exact(log: Outcomes, policy: npt.ArrayLike, like: TabularMDP) -> Array:
    """Tabular FQE's fixed point: q̂ = mean over a pair's samples of r + γ(1−done) E_π[q̂(s', ·)]. [S, A]"""
    return action_values(counted(log, like), policy)


def sampled_rope(
    log: Outcomes, pi_e: npt.ArrayLike, like: TabularMDP, rewards: Literal["means", "samples"] = "means"
) -> StateActionMetric:
    """The ROPE metric as the log tells it; `.operator` and `.fixed_point` are the sampled ones."""
    metric = rope(counted(log, like), pi_e)
    if rewards == "means":
        return metric
    return SampledRewards(metric.name, metric.mdp, metric.feature, metric.policy, log)


class SampledRewards(StateActionMetric):
    """ROPE with the mean of |r_i − r_j| over logged pairs of transitions for its short-term distance."""

    def __init__(self, name: str, mdp: TabularMDP, feature: Array, policy: Array, log: Outcomes) -> None:
        super().__init__(name, mdp, feature, policy)
        object.__setattr__(self, "log", log)

    log: Outcomes

    @property
    def short_term(self) -> Array:
        pair = self.log.state * self.mdp.num_actions + self.log.action
        order = np.argsort(pair, kind="stable")
        starts = np.searchsorted(pair[order], np.arange(self.mdp.num_pairs + 1))
        groups = [np.sort(self.log.reward[order][i:j]) for i, j in itertools.pairwise(starts)]
        R = np.abs(self.feature[:, None] - self.feature[None, :])  # what is left where a pair has no sample
        for x, left in enumerate(groups):
            for y, right in enumerate(groups[: x + 1]):
                if len(left) and len(right):
                    R[x, y] = R[y, x] = mean_absolute_difference(left, right)
        return R


def mean_absolute_difference(left: Array, right: Array) -> float:
    """mean |l − r| over all pairs of two sorted arrays, in O(n log n): each l counts the r's below it."""
    below = np.searchsorted(right, left)  # [n]
    sums = np.concatenate([[0.0], np.cumsum(right)])
    total = left * (2 * below - len(right)) + sums[-1] - 2 * sums[below]
    return float(max(total.mean() / len(right), 0.0))


def log_log_slope(sizes: npt.ArrayLike, errors: npt.ArrayLike) -> float:
    """The exponent p of errors ∝ sizes^p, by least squares on the logarithms; −½ is the rate of averaging."""
    slope, _ = np.polyfit(np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(errors, dtype=float)), 1)
    return float(slope)
