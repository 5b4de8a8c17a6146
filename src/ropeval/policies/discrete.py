"""Networks whose actions are a choice: drawn by their scores (PPO, A2C), or the one of the highest value (DQN)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.errors import UserError
from ropeval.policies.networks import Layer, NetworkPolicy, Weights, special
from ropeval.policies.policy import Mode


class CategoricalMLP(NetworkPolicy):
    """a ~ softmax(logits(s)); in mode `mean` the likeliest action."""

    discrete = True
    noise = "gumbel"

    def __init__(
        self,
        hidden: Sequence[Layer],
        logits: Layer,
        mode: Mode = "stochastic",
        name: str = "policy",
        activation: str = "tanh",
    ):
        super().__init__(hidden, logits, name, activation, mode)

    def act(self, xp: Any, weights: Weights, observations: Any, noise: Any) -> Any:
        logits = self.output(xp, weights, observations)
        if noise is not None:
            logits = logits + noise  # the largest is then distributed as the softmax
        return logits.argmax(axis=-1)

    def log_probs(self, observations: Singles) -> Floats:
        """log π(a|s) of every action, [n, A]."""
        logits = self.output(np, self.weights, observations).astype(np.float64)
        return np.asarray(special(np).log_softmax(logits, axis=-1))

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no probabilities")
        return np.take_along_axis(self.log_probs(observations), np.asarray(actions)[:, None], axis=1)[:, 0]

    def action_probabilities(self, observations: Singles) -> Floats | None:
        return (
            super().action_probabilities(observations) if self.deterministic else np.exp(self.log_probs(observations))
        )

    @property
    def settings(self) -> str:
        return f"categorical {self.mode} {self.activation}"


class GreedyMLP(NetworkPolicy):
    """a = argmax_a q(s, a). Deterministic; the exploration that made its training data is not part of it."""

    discrete = True

    def __init__(self, hidden: Sequence[Layer], values: Layer, name: str = "policy", activation: str = "relu"):
        super().__init__(hidden, values, name, activation)

    def act(self, xp: Any, weights: Weights, observations: Any, noise: Any) -> Any:
        return self.output(xp, weights, observations).argmax(axis=-1)

    def features(self, observations: Singles, actions: AnyArray) -> AnyArray:
        """The last hidden layer in the block of the action, zeros in the others, [n, A·d]: q is linear in it."""
        hidden = self.hidden(np, self.weights, observations)  # [n, d]
        chosen = np.eye(self.action_size or 0, dtype=np.float32)[np.asarray(actions)]  # [n, A]
        return np.asarray((chosen[:, :, None] * hidden[:, None, :]).reshape(len(hidden), -1))

    @property
    def settings(self) -> str:
        return f"greedy {self.activation}"
