"""What the logged episodes earned."""

from typing import Any, NamedTuple

import numpy as np

from ropeval.arrays import Booleans, Floats
from ropeval.data.columns import BLOCK
from ropeval.data.dataset import Dataset

MOST_SUPPOSED = 0.5  # share of what counts; if more of it lies beyond the cuts, the log does not tell what it is worth


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
    asked = np.inf if horizon is None else float(horizon)
    left = discounted_steps(gamma, asked) - discounted_steps(gamma, np.minimum(lengths, asked))
    return np.where(_ended(data), 0.0, left)


def share_beyond_cut(data: Dataset, gamma: float, horizon: int | None = None) -> float:
    """Of what counts, that no episode lasted long enough to show."""
    whole = discounted_steps(gamma, np.inf if horizon is None else horizon)
    return float(beyond_cut(data, gamma, horizon).mean() / whole)


class Onwards(NamedTuple):
    """What goes on after a cut-off: a reward at every step, and the chance that an episode ends there."""

    reward: float
    discount: float  # γ, times the share of the steps after which an episode goes on

    def worth(self, steps: Any) -> Any:
        """Of so many steps, a number or an array of them; infinity: without end."""
        return self.reward * discounted_steps(self.discount, steps)


def onwards(data: Dataset, gamma: float) -> Onwards:
    """As at the log's later steps: those after half the time at which episodes were cut off. Those before it may be
    what begins every episode and never comes back, as the way from the first state to where one stays."""
    lengths, ended = np.diff(data.starts), _ended(data)
    cut = lengths[~ended & (lengths > 0)]
    half = int(cut.mean()) // 2 if len(cut) else 0
    total, count = 0.0, int(np.maximum(lengths - half, 0).sum())
    for begin in range(0, len(data), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(data)))
        late = rows - data.starts[np.searchsorted(data.starts, rows, side="right") - 1] >= half
        total += float(data.rewards[rows][late].sum(dtype=np.float64))
    ends = int((ended & (lengths > half)).sum())
    return Onwards(total / max(count, 1), gamma * (1.0 - ends / max(count, 1)))


def continued_returns(data: Dataset, gamma: float, horizon: int | None = None) -> Floats:
    """[E] the same returns with what goes on after a cut-off (`onwards`): what was done, with nothing cut off."""
    lengths, asked = np.diff(data.starts).astype(np.float64), np.inf if horizon is None else float(horizon)
    beyond = np.power(gamma, lengths) * onwards(data, gamma).worth(np.maximum(asked - lengths, 0.0))
    return episode_returns(data, gamma, horizon) + np.where(_ended(data), 0.0, beyond)


def _ended(data: Dataset) -> Booleans:
    """[E] whether an episode ended by itself."""
    last = np.maximum(data.starts[1:] - 1, 0)
    return np.asarray(np.where(np.diff(data.starts) > 0, data.terminations[last], False), bool)
