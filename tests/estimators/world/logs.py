"""Logs and simulators for these tests: few shapes, since every other one is another program to compile."""

import numpy as np

from ropeval.data import Dataset
from ropeval.estimators.world.network import Sizes
from ropeval.estimators.world.prepared import World, build
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples

QUICK = {"steps": 60, "width": 8, "depth": 1, "batch": 16, "rollouts": 16}  # runs through; has learned little
SMALL = {"steps": 1500, "width": 64, "depth": 1, "batch": 64, "learning_rate": 3e-3, "rollouts": 512}


def log_of(states, following=None, actions=None, rewards=None, ends=None, cuts=None) -> Dataset:
    """A log of these states [n, S]; without `following` one episode, cut off where it stops."""
    count = len(states)
    if following is None:
        following = np.concatenate([states[1:], states[-1:]])
    if cuts is None:
        cuts = np.arange(count) == count - 1
    return Dataset.from_columns(
        {
            "observations": np.asarray(states, np.float32),
            "actions": np.zeros((count, 1), np.float32) if actions is None else actions,
            "rewards": np.arange(count, dtype=np.float32) if rewards is None else rewards,
            "terminations": np.zeros(count, bool) if ends is None else ends,
            "truncations": cuts,
            "next_observations": np.asarray(following, np.float32),
        }
    )


def resampled(log: Dataset, members: int = 2, seed: int = 0) -> Run:
    return Run(member_keys(seed, members), resamples=Resamples(seed, log.num_episodes), part="world")


def simulator_of(log: Dataset, gamma: float = 0.9, run: Run | None = None, chosen=QUICK) -> World:
    sizes = Sizes(chosen["steps"], chosen["batch"], chosen["width"], chosen["depth"], 0.02, 1e-4)
    return build(log, gamma, sizes, chosen.get("learning_rate", 1e-3), run or resampled(log))
