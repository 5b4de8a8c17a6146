"""A policy that explores: every so often it takes any action at all."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ropeval.policies.networks import digest
from ropeval.policies.policy import Policy, Space
from ropeval.policies.uniform import UniformPolicy

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy


class ExploringPolicy(Policy):
    """With probability ε a uniform action, otherwise the policy's own: ε-greedy, where that one is deterministic."""

    deterministic = False

    def __init__(self, policy: Policy, epsilon: float):
        self.name = f"{policy.name} ε={epsilon:g}"
        self._policy, self._epsilon = policy, epsilon
        self._uniform: Policy = UniformPolicy()
        self.observation_size, self.action_size, self.discrete = (
            policy.observation_size, policy.action_size, policy.discrete,
        )  # fmt: skip

    def _told(self, space: Space) -> "ExploringPolicy":
        told = copy.copy(self)
        told._policy, told._uniform = self._policy.fitted(space), self._uniform.fitted(space)
        told.discrete, told.action_size = space.discrete, space.action_size
        return told

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        own = np.asarray(self._policy.sample(observations, rng))
        explores = rng.random(len(observations)) < self._epsilon
        return np.where(explores if own.ndim == 1 else explores[:, None], self._uniform.sample(observations, rng), own)

    @property
    def has_log_prob(self) -> bool:
        """A deterministic choice among actions has a probability; one in a box has no density."""
        return self._policy.has_log_prob or (self._policy.deterministic and self.discrete is True)

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        if self._policy.has_log_prob:
            own = self._policy.log_prob(observations, actions)
        else:
            chosen = self._policy.sample(observations, np.random.default_rng(0))  # deterministic: it draws nothing
            own = np.where(chosen == actions, 0.0, -np.inf)
        any_action = self._uniform.log_prob(observations, actions)
        return np.asarray(np.logaddexp(np.log1p(-self._epsilon) + own, np.log(self._epsilon) + any_action))

    def compiled(self) -> "CompiledPolicy | None":
        import jax
        import jax.numpy as jnp

        from ropeval.policies.compiled import CompiledPolicy, PureFunction

        own, uniform = self._policy.compiled(), self._uniform.compiled()
        if own is None or uniform is None:
            return None

        def act(params: Any, observations: jax.Array, key: jax.Array) -> jax.Array:
            toss, first, second = jax.random.split(key, 3)
            chosen = own.act(params["own"], observations, first)
            anything = uniform.act(params["uniform"], observations, second)
            explores = jax.random.uniform(toss, (len(observations),)) < params["epsilon"]
            return jnp.where(explores.reshape(-1, *[1] * (chosen.ndim - 1)), anything, chosen)

        params = {"own": own.params, "uniform": uniform.params, "epsilon": np.float32(self._epsilon)}
        return CompiledPolicy(params, PureFunction(("exploring", own.act.name, uniform.act.name), act))

    @property
    def sha256(self) -> str | None:
        inner = self._policy.sha256
        return inner and digest(f"exploring {inner}", [np.array([self._epsilon])])
