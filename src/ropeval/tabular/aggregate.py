"""Groups of state-action pairs, the Markov reward process they make, and what the merging costs.

A clustering of *radius* ε is one in which two different members of a cluster are at most 2ε apart. A ball
{y : d(c, y) ≤ ε} is such a cluster, by the triangle inequality through its centre c. Self-distances do not enter:
a pair and itself are never "merged", and the proof of Lemma 1 holds without them (docs/guide/theory.md says why this
matters for a diffuse metric, where d(x, x) can be larger than 2ε).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ropeval.tabular.mdp import Array, IntArray, TabularMDP
from ropeval.tabular.solve import action_values


@dataclass(frozen=True, eq=False)
class Clustering:
    labels: IntArray  # [n] cluster of each pair, numbered from 0 by first appearance
    radius: float  # half the largest distance between two different members of one cluster

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1


def zero_groups(d: Array, tol: float = 1e-8) -> Clustering:
    """The connected sets of {d ≤ tol}. A pair with d(x, x) > tol stands alone: d(x, x) ≤ 2 d(x, y) for every y."""
    _, labels = connected_components(csr_array(d <= tol), directed=False)
    return as_clustering(labels, d)


def neighbourhoods(d: Array, epsilon: float, rng: np.random.Generator | None = None) -> Clustering:
    """Balls of radius ε taken greedily, each from what is left; centres in order, or at random with `rng`.

    A centre belongs to its own ball even where d(c, c) > ε, which a diffuse metric allows.
    """
    order = np.arange(len(d)) if rng is None else rng.permutation(len(d))
    labels = np.full(len(d), -1)
    for centre in order:
        if labels[centre] < 0:
            ball = (d[centre] <= epsilon) & (labels < 0)
            ball[centre] = True
            labels[ball] = centre
    return as_clustering(labels, d)


def as_clustering(labels: npt.ArrayLike, d: Array) -> Clustering:
    """Any partition, with its radius under d."""
    numbers = by_first_appearance(np.asarray(labels))
    together = numbers[:, None] == numbers[None, :]
    np.fill_diagonal(together, False)
    return Clustering(numbers, 0.5 * float(d[together].max(initial=0.0)))


def by_first_appearance(labels: npt.NDArray[np.generic]) -> IntArray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


@dataclass(frozen=True, eq=False)
class AggregatedProcess:
    """The Markov reward process of the paper's proof: clusters as states, members weighted equally."""

    P: Array  # [K, K]
    r: Array  # [K]
    values: Array  # [K] q̃ = r̃ + γ P̃ q̃


def aggregate(mdp: TabularMDP, policy: npt.ArrayLike, clustering: Clustering) -> AggregatedProcess:
    """r̃(k) = mean of r over the cluster, P̃(k' | k) = mean of Pr(φ(x') = k' | y) over its members y."""
    member = np.eye(clustering.count)[clustering.labels]  # [N, K]
    mean = member.T / member.sum(axis=0)[:, None]  # [K, N]
    into = (mdp.policy(policy)[..., None] * member.reshape(mdp.num_states, -1, clustering.count)).sum(axis=1)  # [S, K]
    P = (mean @ mdp.pair_transitions) @ into
    r = mean @ mdp.r.reshape(-1)
    values = np.linalg.solve(np.eye(clustering.count) - mdp.gamma * P, r)
    return AggregatedProcess(P, r, np.asarray(values, dtype=np.float64))


@dataclass(frozen=True)
class AggregationError:
    """What the merging cost, beside what the paper promises it cannot exceed."""

    clusters: int
    radius: float  # ε
    q_error: float  # max |q(x) − q̃(φ(x))|          Lemma 1
    value_error: float  # |ρ − E[q̃(φ(s₀, a₀))]|      Theorem 2
    bound: float  # 2ε/(1−γ)


def aggregation_error(mdp: TabularMDP, policy: npt.ArrayLike, clustering: Clustering) -> AggregationError:
    pi = mdp.policy(policy)
    q = action_values(mdp, pi).reshape(-1)  # [N]
    merged = aggregate(mdp, pi, clustering).values[clustering.labels]  # [N]
    start = (mdp.d0[:, None] * pi).reshape(-1)  # [N]
    return AggregationError(
        clusters=clustering.count,
        radius=clustering.radius,
        q_error=float(np.abs(q - merged).max()),
        value_error=abs(float(start @ (q - merged))),
        bound=2.0 * clustering.radius / (1.0 - mdp.gamma),
    )
