"""A task whose every number is known: a file of tasks as a user would write it."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from ropeval.bench.data.tasks import PolicySource, paper_task

LIMIT = 8


class Countdown(gymnasium.Env):
    """Observation: how many steps remain (1 to 12 at first). Reward: remaining + action. Ends at none, or after 8."""

    observation_space = Box(-1.0, 12.0, (1,))
    action_space = Box(-0.5, 0.5, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.remaining = int(self.np_random.integers(1, 13))
        return np.array([self.remaining], np.float32), {}

    def step(self, action):
        reward = self.remaining + float(action[0])
        self.remaining -= 1
        return np.array([self.remaining], np.float32), reward, self.remaining == 0, False, {}


gymnasium.register("toy/Countdown-v0", entry_point=Countdown, max_episode_steps=LIMIT)


def quarter(observations):
    """Always 0.25."""
    return np.full((len(observations), 1), 0.25, np.float32)


TASKS = [
    paper_task(
        name="toy/countdown",
        environment="toy_tasks:toy/Countdown-v0",
        evaluated=PolicySource(spec="toy_tasks:quarter"),
        behaviour=PolicySource(spec="uniform:0,0.5"),
        mixture=("behaviour", "evaluated", "random"),
        transitions=900,
        gamma=0.5,
    ),
    paper_task(
        name="toy/random",
        environment="toy_tasks:toy/Countdown-v0",
        evaluated=PolicySource(spec="toy_tasks:quarter"),
        behaviour=PolicySource(spec="uniform:0,0.5"),
        mixture=("random",),
        transitions=30_000,
    ),
]
