"""A policy that sees states otherwise than they are told."""

from collections.abc import Callable, Iterable

import numpy as np

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.policies.policy import Policy


class Through(Policy):
    """Asked about observations [n, size], it passes on what `view` makes of them."""

    def __init__(self, policy: Policy, view: Callable[[Singles], Singles], size: int):
        self.name, self.deterministic = policy.name, policy.deterministic
        self.discrete, self.action_size, self.observation_size = policy.discrete, policy.action_size, size
        self._policy, self._view = policy, view

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        return self._policy.sample(self._view(observations), rng)

    def draws(self, observations: Singles, count: int, rng: np.random.Generator) -> Iterable[AnyArray]:
        return self._policy.draws(self._view(observations), count, rng)

    @property
    def side_by_side(self) -> bool:
        return self._policy.side_by_side

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        return self._policy.log_prob(self._view(observations), actions)

    @property
    def has_log_prob(self) -> bool:
        return self._policy.has_log_prob

    def action_probabilities(self, observations: Singles) -> Floats | None:
        return self._policy.action_probabilities(self._view(observations))

    def features(self, observations: Singles, actions: AnyArray) -> AnyArray:
        return self._policy.features(self._view(observations), actions)

    @property
    def has_features(self) -> bool:
        return self._policy.has_features

    @property
    def box(self) -> tuple[Singles, Singles] | None:
        return self._policy.box

    def notes(self, observations: Singles) -> list[str]:
        return self._policy.notes(self._view(observations))

    @property
    def sha256(self) -> str | None:
        return self._policy.sha256


class OfCodes(Through):
    """A policy that takes the one-hot code of a state, as Stable-Baselines3 makes it, asked about numbers [n, 1]."""

    def __init__(self, policy: Policy, states: int):
        super().__init__(policy, lambda numbers: np.eye(states, dtype=np.float32)[numbers[:, 0].astype(np.int64)], 1)
        self._states = states

    def notes(self, observations: Singles) -> list[str]:
        told = f"it takes {self._states} numbers and the log has one: that is taken for the number of a state"
        return [f"policy {self.name}: {told}", *super().notes(observations)]
