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


def patients(kind: str, episodes: int = 300, length: int = 24) -> Dataset:
    """Three signs that two treatments move, by chance: `whole`, measured with `noise`, or two in five of them `stale`.

    A sign that is not measured is carried forward. Treatments follow what is seen, rewards what it was.
    """
    rng = np.random.default_rng(0)
    stays, helps = (
        np.array([[0.9, 0.1, 0.0], [0.0, 0.85, 0.1], [0.05, 0.0, 0.9]]),
        np.array([[6, 0, 3], [0, 6, -3]]) / 10,
    )
    true = rng.standard_normal((episodes, 3))
    seen, rows = true, []
    for _ in range(length):
        treated = (rng.random((episodes, 2)) < 1.0 / (1.0 + np.exp(seen[:, :2]))).astype(np.float32)
        true = true @ stays.T + (treated - 0.5) @ helps + 0.3 * rng.standard_normal(true.shape)
        measured = true + (0.6 if kind == "noise" else 0.0) * rng.standard_normal(true.shape)
        following = np.where(rng.random(true.shape) < (0.4 if kind == "stale" else 1.0), measured, seen)
        rows.append(np.concatenate([seen, treated, following], axis=1))
        seen = following
    every = np.stack(rows, axis=1).reshape(episodes * length, 8).astype(np.float32)
    cuts = np.tile(np.arange(length) == length - 1, episodes)
    rewards = -0.1 * (every[:, :3] ** 2).sum(axis=1)
    return log_of(every[:, :3], every[:, 5:], actions=every[:, 3:5], rewards=rewards, cuts=cuts)
