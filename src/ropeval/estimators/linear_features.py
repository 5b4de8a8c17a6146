"""What least squares needs of a log: features φ in double precision, and their moments, collected in one pass.

Native features of discrete actions are a state and a code of the action. Linear in those, q would be a sum of a part
for the state and one for the action, and could not tell which action is better where. So there φ holds their products:
a linear model of the state per action. What an encoder made is taken as it is.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.arrays import Floats, Integers
from ropeval.data import Rows, Transitions, expected

BLOCK = 65_536  # rows brought to double precision at a time
TOGETHER = 64  # episodes whose moments are held at a time
MOST_PRODUCTS = 200  # of state and action: moments grow with their square


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over the logged steps, and over the initial pairs."""

    features: Floats  # E[φφᵀ]      [d, d]
    following: Floats  # E[φ γφ'ᵀ]   [d, d]
    next_features: Floats  # E[γφ' γφ'ᵀ] [d, d]
    reward: Floats  # E[φ r]       [d]
    next_reward: Floats  # E[γφ' r]     [d]
    squared_reward: float  # E[r²]
    initial: Floats  # E[φ(s₀, a₀)] [d]


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    transitions: Transitions
    intercept: bool  # whether the last feature is a one

    @property
    def products(self) -> int:
        """Of the numbers of a state, and a one, with the code of the action."""
        return self.transitions.code * (self.transitions.dim - self.transitions.code + 1)

    @property
    def code(self) -> int:
        """Length of the action's code, where there are products; 0 where features are taken as they are."""
        return self.transitions.code if self.products <= MOST_PRODUCTS else 0

    @property
    def size(self) -> int:
        """d."""
        return (self.products if self.code else self.transitions.dim) + self.intercept

    def initial(self, member: int) -> Floats:
        """[E, d] φ(s₀, a₀), the mean over the policy's actions."""
        x = self.transitions.initial_block(member=member).astype(np.float64)  # [E, K, X]
        return self._lifted(expected(x, _doubles(self.transitions.initial_weight)))

    def joint(self, rows: Rows, gamma: float | None = None) -> Floats:
        """[n, 2d + 1] φ, γφ' and r of some rows, side by side: all that is wanted lies in their products.

        `gamma`, if given, stands for its own rounding to single precision.
        """
        discount = np.array(rows.discount, np.float64)
        if gamma is not None:
            discount[discount == np.float32(gamma)] = gamma
        following = expected(rows.next_x.astype(np.float64), _doubles(rows.next_weight))  # [n, X]
        next_phi = self._lifted(following) * discount[:, None]
        return np.concatenate([self._lifted(rows.x), next_phi, _doubles(rows.reward)[:, None]], axis=1)

    def moments(self, member: int = 0, gamma: float | None = None, counts: Integers | None = None) -> list[Moments]:
        """One pass over the log for every resample in `counts` [B, E]; None: for the log as it is alone."""
        if counts is None:
            edges = np.append(np.arange(0, self.transitions.size, BLOCK), self.transitions.size)
            held, together = np.ones((1, len(edges) - 1)), 1
        else:
            edges, held, together = np.asarray(self.transitions.starts), counts.astype(np.float64), TOGETHER
        total = np.zeros((len(held), (2 * self.size + 1) ** 2 + 1))
        firsts = range(0, len(edges) - 1, together)
        blocks = self.transitions.blocks([*edges[:-1:together], edges[-1]], member)
        for first, rows in zip(firsts, blocks, strict=True):
            bounds = edges[first : first + together + 1]
            joint = self.joint(rows, gamma)  # [n, 2d + 1]
            parts = [joint[a:b] for a, b in pairwise(bounds - bounds[0])]
            products = np.stack([np.append((part.T @ part).ravel(), float(len(part))) for part in parts])
            total += held[:, first : first + together] @ products

        initial = self.initial(member)  # [E, d]
        starting = initial.mean(axis=0)[None] if counts is None else counts @ initial / counts.sum(axis=1)[:, None]
        means = total[:, :-1] / np.maximum(total[:, -1:], 1.0)
        return [_split(mean, start, self.size) for mean, start in zip(means, starting, strict=True)]

    def _lifted(self, features: NDArray[np.floating]) -> Floats:
        """[n, d] of [n, X]. Of means over actions it makes the mean of the products: the state is the same in all."""
        values = np.asarray(features, np.float64)
        ones = np.ones((len(values), 1))
        if self.code:
            states, actions = np.append(values[:, : -self.code], ones, axis=1), values[:, -self.code :]
            values = (actions[:, :, None] * states[:, None, :]).reshape(len(values), -1)  # of [n, S + 1] and [n, A]
        return np.append(values, ones, axis=1) if self.intercept else values


def _doubles(values: Any) -> Any:
    return None if values is None else np.asarray(values, np.float64)


def _split(joint: Floats, initial: Floats, d: int) -> Moments:
    """The blocks of the means of [φ, γφ', r] with itself."""
    square = joint.reshape(2 * d + 1, 2 * d + 1)
    return Moments(
        features=square[:d, :d],
        following=square[:d, d : 2 * d],
        next_features=square[d : 2 * d, d : 2 * d],
        reward=square[:d, -1],
        next_reward=square[d : 2 * d, -1],
        squared_reward=float(square[-1, -1]),
        initial=initial,
    )
