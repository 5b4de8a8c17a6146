"""Tanh-Gaussian multilayer perceptrons: what SAC trains and deep_ope publishes."""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.policies.policy import Policy

Mode = Literal["stochastic", "mean", "offset"]
MODES: tuple[Mode, ...] = ("stochastic", "mean", "offset")
OFFSET = 0.1  # the paper's "noise of 0.1" is this constant: a = tanh(mean + 0.1·std)

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight [out, in], bias [out]


class GaussianMLP(Policy):
    """a = tanh(u) scaled to the action range, u ~ N(mean(s), std(s)²); ReLU hidden layers.

    `mode` says how an action is taken: `stochastic` draws u, `mean` takes its mean, `offset` takes the mean
    plus a tenth of the standard deviation, which is what the paper's code does on D4RL.
    """

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        log_std: Layer,
        log_std_range: tuple[float, float] | None = None,
        action_range: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
        mode: Mode = "stochastic",
        name: str = "policy",
        critic: Sequence[Layer] = (),
    ):
        self.name, self.mode = name, mode
        self.deterministic = mode != "stochastic"
        self.discrete = False
        self._hidden, self._mean, self._log_std = list(hidden), mean, log_std
        self._log_std_range, self._action_range = log_std_range, action_range
        self._critic = list(critic)  # its action-value network up to the linear output, [observation, action] in
        self._check_shapes()
        self.observation_size = (self._hidden[0] if self._hidden else mean)[0].shape[1]
        self.action_size = mean[0].shape[0]

    def _check_shapes(self) -> None:
        size = (self._hidden[0] if self._hidden else self._mean)[0].shape[-1]
        for place, (weight, bias) in enumerate([*self._hidden, self._mean]):
            if weight.ndim != 2 or weight.shape[1] != size or bias.shape != weight.shape[:1]:
                raise UserError(
                    f"policy {self.name}: layer {place} has weight {weight.shape} and bias {bias.shape}; "
                    f"expected (out, {size}) and (out,)"
                )
            size = weight.shape[0]
        size = self._critic[0][0].shape[-1] if self._critic else 0
        takes = (self._hidden[0] if self._hidden else self._mean)[0].shape[1] + self._mean[0].shape[0]
        for place, (weight, bias) in enumerate(self._critic):
            if weight.ndim != 2 or weight.shape[1] != (size if place else takes) or bias.shape != weight.shape[:1]:
                raise UserError(
                    f"policy {self.name}: layer {place} of its critic has weight {weight.shape} and bias {bias.shape}; "
                    f"expected (out, {size if place else takes}) and (out,)"
                )
            size = weight.shape[0]
        if self._log_std[0].shape != self._mean[0].shape or self._log_std[1].shape != self._mean[1].shape:
            raise UserError(f"policy {self.name}: the layers of mean and log std differ in shape")

    def distribution(self, observations: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Mean and standard deviation of u, before the tanh: [n, A] each."""
        h = np.asarray(observations, np.float32)
        for weight, bias in self._hidden:
            h = np.maximum(h @ weight.T + bias, 0.0)
        mean = h @ self._mean[0].T + self._mean[1]
        log_std = h @ self._log_std[0].T + self._log_std[1]
        if self._log_std_range is not None:
            log_std = np.clip(log_std, *self._log_std_range)
        return mean, np.exp(log_std)

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        mean, std = self.distribution(observations)
        if self.mode == "stochastic":
            mean = mean + std * rng.standard_normal(mean.shape, np.float32)
        elif self.mode == "offset":
            mean = mean + OFFSET * std
        return self._scale(np.tanh(mean))

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        """log π(a|s) of actions [n, A], with the change of variables for tanh and scale."""
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no density")
        mean, std = (a.astype(np.float64) for a in self.distribution(observations))
        scale: NDArray[np.float64] = np.ones(1)
        squashed = np.asarray(actions, np.float64)
        if self._action_range is not None:
            low, high = (a.astype(np.float64) for a in self._action_range)
            scale = (high - low) / 2.0
            squashed = (squashed - low) / scale - 1.0
        # Actions logged in float32 can sit on ±1, where arctanh is infinite.
        u = np.arctanh(np.clip(squashed, -1 + 1e-7, 1 - 1e-7))
        gaussian = -0.5 * ((u - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)
        jacobian = 2.0 * (np.log(2.0) - u - np.logaddexp(0.0, -2.0 * u))  # log(1 − tanh²u), without cancellation
        total: NDArray[np.float64] = (gaussian - jacobian - np.log(scale)).sum(axis=-1)
        return total

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
        h = np.concatenate([np.asarray(observations, np.float32), scaled], axis=-1)
        for weight, bias in self._critic:
            h = np.maximum(h @ weight.T + bias, 0.0)
        return h

    def _scale(self, squashed: NDArray[Any]) -> NDArray[Any]:
        if self._action_range is None:
            return squashed
        low, high = self._action_range
        return low + (squashed + 1.0) * (high - low) / 2.0

    @property
    def box(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if self._action_range is not None:
            return self._action_range
        assert self.action_size is not None
        return -np.ones(self.action_size, np.float32), np.ones(self.action_size, np.float32)

    @property
    def sha256(self) -> str:
        digest = hashlib.sha256(f"{self.mode} {self._log_std_range}".encode())
        arrays = [a for layer in (*self._hidden, self._mean, self._log_std, *self._critic) for a in layer]
        for array in [*arrays, *(self._action_range or ())]:
            digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array, np.float32).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        widths = " → ".join(str(w.shape[1]) for w, _ in [*self._hidden, self._mean])
        return f"GaussianMLP {self.name!r} ({self.kind}, mode {self.mode}), {widths} → {self.action_size}"
