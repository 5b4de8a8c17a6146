"""The greedy policy of an action-value network, as DQN trains it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.policies.networks import Layer, check_chain, digest, linear, propagate, widths
from ropeval.policies.policy import Policy


class GreedyMLP(Policy):
    """a = argmax_a q(s, a). Deterministic; the exploration that made its training data is not part of it."""

    discrete = True
    deterministic = True

    def __init__(self, hidden: Sequence[Layer], values: Layer, name: str = "policy", activation: str = "relu"):
        self.name, self.activation = name, activation
        self._hidden, self._values = list(hidden), values
        self.observation_size = check_chain([*self._hidden, values], f"policy {name}")
        self.action_size = values[0].shape[0]

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        return linear(self._values, self._latent(observations)).argmax(axis=-1)

    def features(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[Any]:
        """The last hidden layer in the block of the action, zeros in the others, [n, A·d]: q is linear in it."""
        latent = self._latent(observations)  # [n, d]
        chosen = np.eye(len(self._values[0]), dtype=np.float32)[np.asarray(actions)]  # [n, A]
        return (chosen[:, :, None] * latent[:, None, :]).reshape(len(latent), -1)

    def _latent(self, observations: NDArray[np.float32]) -> NDArray[Any]:
        return propagate(self._hidden, self.activation, observations)

    @property
    def sha256(self) -> str:
        layers = [a for layer in (*self._hidden, self._values) for a in layer]
        return digest(f"greedy {self.activation}", layers)

    def __repr__(self) -> str:
        inside = widths([*self._hidden, self._values])
        return f"GreedyMLP {self.name!r} ({self.kind}), {inside} → {self.action_size} actions"
