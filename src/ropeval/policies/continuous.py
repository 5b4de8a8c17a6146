"""Networks whose actions are numbers: a mean, noise around it, and a tanh (SAC, TD3, deep_ope) or a clip (PPO, A2C)
that keeps the action in its box."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.errors import UserError
from ropeval.policies.networks import Layer, NetworkPolicy, Range, Weights, check_chain, linear, propagate, special
from ropeval.policies.policy import Mode

OFFSET = 0.1  # the paper's "noise of 0.1" is this constant: a = tanh(mean + 0.1·std)


class _ContinuousMLP(NetworkPolicy):
    """u = mean(s), plus noise or an offset of some standard deviations; then the action is u, kept in the box."""

    discrete = False
    noise = "normal"

    @abstractmethod
    def std(self, xp: Any, weights: Weights, hidden: Any) -> Any:
        """Standard deviation of u: [n, A], or [A] where it is the same in every state."""

    @abstractmethod
    def bounded(self, xp: Any, weights: Weights, u: Any) -> Any:
        """The action that u becomes. [n, A]"""

    def act(self, xp: Any, weights: Weights, observations: Any, noise: Any) -> Any:
        hidden = self.hidden(xp, weights, observations)
        u = linear(weights["output"], hidden)
        if self.mode == "stochastic":
            u = u + self.std(xp, weights, hidden) * noise
        elif self.mode == "offset":
            u = u + OFFSET * self.std(xp, weights, hidden)
        return self.bounded(xp, weights, u)

    def distribution(self, observations: Singles) -> tuple[Floats, Floats]:
        """Mean and standard deviation of u: [n, A], and [n, A] or [A]."""
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no density")
        hidden = self.hidden(np, self.weights, observations)
        mean, std = linear(self.weights["output"], hidden), self.std(np, self.weights, hidden)
        return mean.astype(np.float64), std.astype(np.float64)


class _SquashedMLP(_ContinuousMLP):
    """a = tanh(u), scaled to the action range where there is one; perhaps with the critic it was trained with."""

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        log_std: Layer | None,
        action_range: Range | None,
        mode: Mode,
        name: str,
        critic: Sequence[Layer],
        activation: str,
    ):
        super().__init__(hidden, mean, name, activation, mode)
        if critic:  # its action-value network up to the linear output, [observation, action] in
            check_chain(critic, f"policy {name}", self.observation_size + mean[0].shape[0], " of its critic")
        self.weights |= {"log_std": log_std, "critic": list(critic), "range": action_range}

    def bounded(self, xp: Any, weights: Weights, u: Any) -> Any:
        if weights["range"] is None:
            return xp.tanh(u)
        low, high = weights["range"]
        return low + (xp.tanh(u) + 1.0) * (high - low) / 2.0

    @property
    def has_features(self) -> bool:
        return bool(self.weights["critic"])

    def features(self, observations: Singles, actions: AnyArray) -> AnyArray:
        """The critic's last hidden layer, [n, d]. It was trained on actions scaled to [−1, 1]."""
        if not self.has_features:
            return super().features(observations, actions)
        scaled: AnyArray = np.asarray(actions, np.float32)
        if self.weights["range"] is not None:
            low, high = self.weights["range"]
            scaled = 2.0 * (scaled - low) / (high - low) - 1.0
        pairs = np.concatenate([np.asarray(observations, np.float32), scaled], axis=-1)
        return np.asarray(propagate(np, self.weights["critic"], self.activation, pairs))

    @property
    def box(self) -> Range | None:
        one = np.ones(self.action_size or 0, np.float32)
        return self.weights["range"] or (-one, one)

    @property
    def _activation_unless_relu(self) -> str:
        return "" if self.activation == "relu" else f" {self.activation}"


class TanhMLP(_SquashedMLP):
    """a = tanh(mean(s)) scaled to the action range: what TD3 and DDPG train. Deterministic."""

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        action_range: Range | None = None,
        name: str = "policy",
        critic: Sequence[Layer] = (),
        activation: str = "relu",
    ):
        super().__init__(hidden, mean, None, action_range, "mean", name, critic, activation)

    def std(self, xp: Any, weights: Weights, hidden: Any) -> Any:
        return xp.zeros(weights["output"][1].shape)

    @property
    def settings(self) -> str:
        return "tanh" + self._activation_unless_relu


class GaussianMLP(_SquashedMLP):
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
        super().__init__(hidden, mean, log_std, action_range, mode, name, critic, activation)
        self._log_std_range, self._squash = log_std_range, squash
        if log_std[0].shape != mean[0].shape or log_std[1].shape != mean[1].shape:
            raise UserError(f"policy {name}: the layers of mean and log std differ in shape")

    def std(self, xp: Any, weights: Weights, hidden: Any) -> Any:
        log_std = linear(weights["log_std"], hidden)
        return xp.exp(log_std if self._log_std_range is None else xp.clip(log_std, *self._log_std_range))

    def bounded(self, xp: Any, weights: Weights, u: Any) -> Any:
        return super().bounded(xp, weights, u) if self._squash else u

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        """log π(a|s) of actions [n, A], with the change of variables for tanh and scale."""
        mean, std = self.distribution(observations)
        actions = np.asarray(actions, np.float64)
        if not self._squash:
            return np.asarray(_log_normal(actions, mean, std).sum(axis=-1))
        scale: Floats = np.ones(1)
        if self.weights["range"] is not None:
            low, high = (a.astype(np.float64) for a in self.weights["range"])
            scale = (high - low) / 2.0
            actions = (actions - low) / scale - 1.0
        # Actions logged in float32 can sit on ±1, where arctanh is infinite.
        u = np.arctanh(np.clip(actions, -1 + 1e-7, 1 - 1e-7))
        jacobian = 2.0 * (np.log(2.0) - u - np.logaddexp(0.0, -2.0 * u))  # log(1 − tanh²u), without cancellation
        return np.asarray((_log_normal(u, mean, std) - jacobian - np.log(scale)).sum(axis=-1))

    @property
    def box(self) -> Range | None:
        return super().box if self._squash else None

    @property
    def settings(self) -> str:
        squashed = "" if self._squash else " not squashed"
        return f"{self.mode} {self._log_std_range}{squashed}{self._activation_unless_relu}"


class ClippedGaussianMLP(_ContinuousMLP):
    """a = clip(u, low, high), u ~ N(mean(s), std²): the standard deviation is the same in every state.

    The tails beyond the box all land on its faces, so an action coordinate on a face has a *probability* and one inside
    has a *density*. `log_prob` gives just that. Ratios of two policies are right where both say so, and where no
    logged action lies on a face.
    """

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        log_std: Singles,
        action_range: Range,
        mode: Mode = "stochastic",
        name: str = "policy",
        activation: str = "tanh",
    ):
        super().__init__(hidden, mean, name, activation, mode)
        if log_std.shape != (self.action_size,):
            raise UserError(f"policy {name}: its log_std has shape {log_std.shape}; expected ({self.action_size},)")
        self.weights |= {"log_std": log_std, "range": action_range}

    def std(self, xp: Any, weights: Weights, hidden: Any) -> Any:
        return xp.exp(weights["log_std"])

    def bounded(self, xp: Any, weights: Weights, u: Any) -> Any:
        return xp.clip(u, *weights["range"])

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        mean, _ = self.distribution(observations)
        log_std = self.weights["log_std"].astype(np.float64)
        low, high = (a.astype(np.float64) for a in self.weights["range"])
        actions = np.asarray(actions, np.float64)
        z = (actions - mean) / np.exp(log_std)
        inside = -0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi)
        log_ndtr = special(np).log_ndtr
        each = np.where(actions <= low, log_ndtr(z), np.where(actions >= high, log_ndtr(-z), inside))
        outside = (actions < low) | (actions > high)
        return np.asarray(np.where(outside, -np.inf, each).sum(axis=-1))

    @property
    def box(self) -> Range | None:
        found: Range = self.weights["range"]
        return found if np.isfinite(found).all() else None

    @property
    def settings(self) -> str:
        return f"clipped {self.mode} {self.activation}"


def _log_normal(x: Floats, mean: Floats, std: Floats) -> Floats:
    return np.asarray(-0.5 * ((x - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi))
