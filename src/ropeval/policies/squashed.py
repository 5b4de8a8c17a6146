"""Policies whose actions are a tanh, scaled to a box: what SAC and TD3 train and deep_ope mostly publishes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.policies.networks import Layer, Range, check_chain, digest, linear, propagate, widths
from ropeval.policies.policy import Policy


class SquashedPolicy(Policy):
    """What the two have in common: the box, and the critic that they may have been trained with."""

    discrete = False

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        action_range: Range | None,
        name: str,
        critic: Sequence[Layer],
        activation: str,
    ):
        self.name, self.activation = name, activation
        self._hidden, self._mean = list(hidden), mean
        self._action_range = action_range
        self._critic = list(critic)  # its action-value network up to the linear output, [observation, action] in
        self.observation_size = check_chain([*self._hidden, mean], f"policy {name}")
        self.action_size = mean[0].shape[0]
        if self._critic:
            takes = self.observation_size + self.action_size
            check_chain(self._critic, f"policy {name}", takes, " of its critic")

    @property
    def has_features(self) -> bool:
        return bool(self._critic)

    def features(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[Any]:
        """The critic's last hidden layer, [n, d]. It was trained on actions scaled to [−1, 1]."""
        if not self._critic:
            return super().features(observations, actions)
        scaled: NDArray[Any] = np.asarray(actions, np.float32)
        if self._action_range is not None:
            low, high = self._action_range
            scaled = 2.0 * (scaled - low) / (high - low) - 1.0
        pairs = np.concatenate([np.asarray(observations, np.float32), scaled], axis=-1)
        return propagate(self._critic, self.activation, pairs)

    def _scale(self, squashed: NDArray[Any]) -> NDArray[Any]:
        if self._action_range is None:
            return squashed
        low, high = self._action_range
        return low + (squashed + 1.0) * (high - low) / 2.0

    @property
    def box(self) -> Range | None:
        if self._action_range is not None:
            return self._action_range
        assert self.action_size is not None
        return -np.ones(self.action_size, np.float32), np.ones(self.action_size, np.float32)

    def _arrays(self) -> list[NDArray[Any]]:
        return [a for layer in (*self._hidden, self._mean) for a in layer]

    def _digest(self, about: str, more: Sequence[NDArray[Any]] = ()) -> str:
        about = about if self.activation == "relu" else f"{about} {self.activation}"
        critic = [a for layer in self._critic for a in layer]
        return digest(about, [*self._arrays(), *more, *critic, *(self._action_range or ())])


class TanhMLP(SquashedPolicy):
    """a = tanh(mean(s)) scaled to the action range: what TD3 and DDPG train. Deterministic."""

    deterministic = True

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        action_range: Range | None = None,
        name: str = "policy",
        critic: Sequence[Layer] = (),
        activation: str = "relu",
    ):
        super().__init__(hidden, mean, action_range, name, critic, activation)

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        return self._scale(np.tanh(linear(self._mean, propagate(self._hidden, self.activation, observations))))

    @property
    def sha256(self) -> str:
        return self._digest("tanh")

    def __repr__(self) -> str:
        return f"TanhMLP {self.name!r} ({self.kind}), {widths([*self._hidden, self._mean])} → {self.action_size}"
