"""What the logged episodes earned."""

from typing import Any

import numpy as np

from ropeval.arrays import Floats
from ropeval.data.columns import BLOCK
from ropeval.data.dataset import Dataset


def discounted_steps(gamma: float, steps: Any) -> Any:
    """Σ γ^t over so many steps, a number or an array of them; infinity: without end."""
    if gamma == 1.0:
        return steps * 1.0
    return (1.0 - gamma ** np.asarray(steps, np.float64)) / (1.0 - gamma)


def episode_returns(data: Dataset, gamma: float, horizon: int | None = None) -> Floats:
    """[E] Σ_t γ^t r_t of every episode, over its first `horizon` steps or all of them."""
    total = np.zeros(data.num_episodes)
    for begin in range(0, len(data), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(data)))
        episode = np.searchsorted(data.starts, rows, side="right") - 1
        time = rows - data.starts[episode]  # [n] step within its episode
        counts = np.power(gamma, time) if horizon is None else np.where(time < horizon, np.power(gamma, time), 0.0)
        total += np.bincount(episode, counts * data.rewards[rows].astype(np.float64), data.num_episodes)
    return total


def beyond_cut(data: Dataset, gamma: float, horizon: int | None = None) -> Floats:
    """[E] Σ γ^t over the steps that an episode's cut-off took away; 0 where it ended by itself, or was long enough."""
    lengths = np.diff(data.starts).astype(np.float64)
    last = np.maximum(data.starts[1:] - 1, 0)
    ended = np.where(lengths > 0, data.terminations[last], False)
    asked = np.inf if horizon is None else float(horizon)
    left = discounted_steps(gamma, asked) - discounted_steps(gamma, np.minimum(lengths, asked))
    return np.where(ended, 0.0, left)


def continued_returns(data: Dataset, gamma: float, horizon: int | None = None) -> Floats:
    """[E] the same returns where after a cut-off the log's mean reward goes on: what was done, with nothing cut off."""
    mean = float(data.rewards.mean(dtype=np.float64))
    return episode_returns(data, gamma, horizon) + mean * beyond_cut(data, gamma, horizon)
