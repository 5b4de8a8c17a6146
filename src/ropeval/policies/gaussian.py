"""Gaussian multilayer perceptrons, squashed by a tanh or not: what SAC trains and deep_ope publishes."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.policies.networks import Layer, Range, linear, propagate, widths
from ropeval.policies.squashed import SquashedPolicy

Mode = Literal["stochastic", "mean", "offset"]
MODES: tuple[Mode, ...] = ("stochastic", "mean", "offset")
OFFSET = 0.1  # the paper's "noise of 0.1" is this constant: a = tanh(mean + 0.1·std)


class GaussianMLP(SquashedPolicy):
    """a = tanh(u) scaled to the action range, u ~ N(mean(s), std(s)²); without `squash`, a = u.

    `mode` says how an action is taken: `stochastic` draws u, `mean` takes its mean, `offset` takes the mean
    plus a tenth of the standard deviation, which is what the paper's code does on D4RL.
    """

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        log_std: Layer,
        log_std_range: tuple[float, float] | None = None,
        action_range: Range | None = None,
        mode: Mode = "stochastic",
        name: str = "policy",
        critic: Sequence[Layer] = (),
        activation: str = "relu",
        squash: bool = True,
    ):
        super().__init__(hidden, mean, action_range, name, critic, activation)
        self._squash = squash
        self.mode, self.deterministic = mode, mode != "stochastic"
        self._log_std, self._log_std_range = log_std, log_std_range
        if log_std[0].shape != mean[0].shape or log_std[1].shape != mean[1].shape:
            raise UserError(f"policy {name}: the layers of mean and log std differ in shape")

    def distribution(self, observations: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Mean and standard deviation of u, before the tanh: [n, A] each."""
        h = propagate(self._hidden, self.activation, observations)
        log_std = linear(self._log_std, h)
        if self._log_std_range is not None:
            log_std = np.clip(log_std, *self._log_std_range)
        return linear(self._mean, h), np.exp(log_std)

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        mean, std = self.distribution(observations)
        if self.mode == "stochastic":
            mean = mean + std * rng.standard_normal(mean.shape, np.float32)
        elif self.mode == "offset":
            mean = mean + OFFSET * std
        return self._scale(np.tanh(mean)) if self._squash else mean

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        """log π(a|s) of actions [n, A], with the change of variables for tanh and scale."""
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no density")
        mean, std = (a.astype(np.float64) for a in self.distribution(observations))
        if not self._squash:
            return _log_normal(np.asarray(actions, np.float64), mean, std).sum(axis=-1)
        scale: NDArray[np.float64] = np.ones(1)
        squashed = np.asarray(actions, np.float64)
        if self._action_range is not None:
            low, high = (a.astype(np.float64) for a in self._action_range)
            scale = (high - low) / 2.0
            squashed = (squashed - low) / scale - 1.0
        # Actions logged in float32 can sit on ±1, where arctanh is infinite.
        u = np.arctanh(np.clip(squashed, -1 + 1e-7, 1 - 1e-7))
        jacobian = 2.0 * (np.log(2.0) - u - np.logaddexp(0.0, -2.0 * u))  # log(1 − tanh²u), without cancellation
        total: NDArray[np.float64] = (_log_normal(u, mean, std) - jacobian - np.log(scale)).sum(axis=-1)
        return total

    @property
    def box(self) -> Range | None:
        return super().box if self._squash else None

    @property
    def sha256(self) -> str:
        about = f"{self.mode} {self._log_std_range}" + ("" if self._squash else " not squashed")
        return self._digest(about, self._log_std)

    def __repr__(self) -> str:
        inside = widths([*self._hidden, self._mean])
        return f"GaussianMLP {self.name!r} ({self.kind}, mode {self.mode}), {inside} → {self.action_size}"


def _log_normal(x: NDArray[np.float64], mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-0.5 * ((x - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi))
