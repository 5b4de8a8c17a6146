"""The worlds as Gymnasium plays them. Importing this module registers them all."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import AcrobotEnv, CartPoleEnv, Continuous_MountainCarEnv, PendulumEnv
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from ropeval.bench.data.truth import Answer
from ropeval.bench.data.worlds import bandit, chain, classic, epidemic, icu, inventory, linear
from ropeval.bench.data.worlds.table import Table
from ropeval.policies.policy import Policy

Observation = NDArray[np.float32]


class World(gymnasium.Env[Observation, Any], ABC):
    """One of ours: it tells how it begins, and what is seen."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = self._start()
        return self._observe(), {}

    @abstractmethod
    def _start(self) -> Any: ...

    def _observe(self) -> Observation:
        return np.asarray(self._state, np.float32)


class TableWorld(World):
    """A table, played."""

    def __init__(self, world: Callable[[], Table]) -> None:
        self._table = world()
        seen = self._table.observations
        self.observation_space = Box(seen.min(axis=0).astype(np.float32), seen.max(axis=0).astype(np.float32))
        self.action_space: Any = Discrete(self._table.P.shape[1])

    def _start(self) -> int:
        return self._draw(self._table.d0)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        before, self._state = self._state, self._draw(self._table.P[self._state, action])
        reward = float(self._table.rewards[before, action, self._state])
        return self._observe(), reward, bool(self._table.terminal[self._state]), False, {}

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> Answer:
        return self._table.answer(policy, gamma, time_limit)

    def _draw(self, probabilities: NDArray[np.float64]) -> int:
        reach = probabilities.cumsum()
        return int(np.searchsorted(reach, self.np_random.random() * reach[-1], side="right"))

    def _observe(self) -> Observation:
        return self._table.observations[self._state].astype(np.float32)


class Bandit(World):
    """A context, an action, a reward, the end."""

    observation_space = Box(-np.inf, np.inf, (bandit.CONTEXT,))
    action_space: Any = Discrete(bandit.ACTIONS)

    def _start(self) -> NDArray[np.float64]:
        return self.np_random.standard_normal(bandit.CONTEXT)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        mean = bandit.mean_rewards(self._state[None])[0, action]
        reward = float(mean + bandit.NOISE * self.np_random.standard_normal())
        return self._observe(), reward, True, False, {}

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> Answer:
        return bandit.answer(policy)


class LinearQuadratic(World):
    """Two carts and a spring. It never ends by itself."""

    observation_space = Box(-np.inf, np.inf, (4,))
    action_space = Box(-linear.LARGEST, linear.LARGEST, (2,))

    def _start(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(np.diag(linear.START)) * self.np_random.standard_normal(4))

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        push = np.asarray(action, np.float64)
        reward = -float(self._state @ linear.Q @ self._state + push @ linear.R @ push)
        shock = np.sqrt(np.diag(linear.NOISE)) * self.np_random.standard_normal(4)
        self._state = linear.A @ self._state + linear.B @ push + shock
        return self._observe(), reward, False, False, {}

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> Answer:
        return linear.answer(policy, gamma, time_limit)


class Answering:
    """Added to an environment of Gymnasium's: it plays as it did, and knows what a policy is worth."""

    physics: classic.Physics
    episodes = 20_000

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> NDArray[np.float64]:
        return classic.play(self.physics, policy, gamma, time_limit, self.episodes)


class CartPole(Answering, CartPoleEnv):
    physics = classic.CartPole()


class Acrobot(Answering, AcrobotEnv):
    physics = classic.Acrobot()
    episodes = 5_000


class MountainCar(Answering, Continuous_MountainCarEnv):
    physics = classic.MountainCar()


class Pendulum(Answering, PendulumEnv):
    physics = classic.Pendulum()
    episodes = 50_000  # where it begins decides much


Registered = dict[str, tuple[Callable[..., Any], int]]  # how an environment is made, and its time limit
CLASSIC: Registered = {  # by Gymnasium's id
    "CartPole-v1": (CartPole, 500),
    "Acrobot-v1": (Acrobot, 500),
    "MountainCarContinuous-v0": (MountainCar, 999),
    "Pendulum-v1": (Pendulum, 200),
}
TABLES = {"Chain": chain, "Inventory": inventory, "Epidemic": epidemic, "ICU": icu}
OURS: Registered = {f"{n}-v0": (partial(TableWorld, table.world), table.TIME_LIMIT) for n, table in TABLES.items()}
OURS |= {"Bandit-v0": (Bandit, 1), "LinearQuadratic-v0": (LinearQuadratic, linear.TIME_LIMIT)}
for _name, (_make, _limit) in (CLASSIC | OURS).items():
    gymnasium.register(f"ropeval/{_name}", entry_point=_make, max_episode_steps=_limit)
