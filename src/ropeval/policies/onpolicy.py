"""Policies of the on-policy family (PPO, A2C, TRPO): a clipped Gaussian over a box, and a choice among actions."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, log_softmax

from ropeval.errors import UserError
from ropeval.policies.networks import Layer, Range, check_chain, digest, linear, propagate, widths
from ropeval.policies.policy import Policy

Mode = Literal["stochastic", "mean"]


class ClippedGaussianMLP(Policy):
    """a = clip(u, low, high), u ~ N(mean(s), std²): the standard deviation is the same in every state.

    The tails beyond the box all land on its faces, so an action coordinate on a face has a *probability* and one inside
    has a *density*. `log_prob` gives just that. Ratios of two policies are right where both say so, and where no
    logged action lies on a face.
    """

    discrete = False

    def __init__(
        self,
        hidden: Sequence[Layer],
        mean: Layer,
        log_std: NDArray[np.float32],
        action_range: Range,
        mode: Mode = "stochastic",
        name: str = "policy",
        activation: str = "tanh",
    ):
        self.name, self.mode, self.activation = name, mode, activation
        self.deterministic = mode == "mean"
        self._hidden, self._mean, self._action_range = list(hidden), mean, action_range
        self.observation_size = check_chain([*self._hidden, mean], f"policy {name}")
        self.action_size = mean[0].shape[0]
        if log_std.shape != (self.action_size,):
            raise UserError(f"policy {name}: its log_std has shape {log_std.shape}; expected ({self.action_size},)")
        self._log_std = log_std

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        action = self._means(observations)
        if self.mode == "stochastic":
            action = action + np.exp(self._log_std) * rng.standard_normal(action.shape, np.float32)
        return np.clip(action, *self._action_range)

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no density")
        low, high = (a.astype(np.float64) for a in self._action_range)
        mean, log_std = self._means(observations).astype(np.float64), self._log_std.astype(np.float64)
        actions = np.asarray(actions, np.float64)
        z = (actions - mean) / np.exp(log_std)
        inside = -0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi)
        each = np.where(actions <= low, log_ndtr(z), np.where(actions >= high, log_ndtr(-z), inside))
        outside = (actions < low) | (actions > high)
        total: NDArray[np.float64] = np.where(outside, -np.inf, each).sum(axis=-1)
        return total

    def _means(self, observations: NDArray[np.float32]) -> NDArray[Any]:
        return linear(self._mean, propagate(self._hidden, self.activation, observations))

    @property
    def box(self) -> Range | None:
        return self._action_range if np.isfinite(self._action_range).all() else None

    @property
    def sha256(self) -> str:
        layers = [a for layer in (*self._hidden, self._mean) for a in layer]
        return digest(f"clipped {self.mode} {self.activation}", [*layers, self._log_std, *self._action_range])

    def __repr__(self) -> str:
        inside = widths([*self._hidden, self._mean])
        return f"ClippedGaussianMLP {self.name!r} ({self.kind}), {inside} → {self.action_size}"


class CategoricalMLP(Policy):
    """a ~ softmax(logits(s)); in mode `mean` the likeliest action."""

    discrete = True

    def __init__(
        self,
        hidden: Sequence[Layer],
        logits: Layer,
        mode: Mode = "stochastic",
        name: str = "policy",
        activation: str = "tanh",
    ):
        self.name, self.mode, self.activation = name, mode, activation
        self.deterministic = mode == "mean"
        self._hidden, self._logits = list(hidden), logits
        self.observation_size = check_chain([*self._hidden, logits], f"policy {name}")
        self.action_size = logits[0].shape[0]

    def log_probs(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """log π(a|s) of every action, [n, A]."""
        logits = linear(self._logits, propagate(self._hidden, self.activation, observations))
        return np.asarray(log_softmax(logits.astype(np.float64), axis=-1))

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        scores = self.log_probs(observations)
        if self.mode == "stochastic":
            scores = scores + rng.gumbel(size=scores.shape)  # the largest is then distributed as the softmax
        return scores.argmax(axis=-1)

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        if self.deterministic:
            raise UserError(f"policy {self.name}: in mode {self.mode!r} it is deterministic and has no probabilities")
        return np.take_along_axis(self.log_probs(observations), np.asarray(actions)[:, None], axis=1)[:, 0]

    @property
    def sha256(self) -> str:
        layers = [a for layer in (*self._hidden, self._logits) for a in layer]
        return digest(f"categorical {self.mode} {self.activation}", layers)

    def __repr__(self) -> str:
        inside = widths([*self._hidden, self._logits])
        return f"CategoricalMLP {self.name!r} ({self.kind}), {inside} → {self.action_size} actions"
