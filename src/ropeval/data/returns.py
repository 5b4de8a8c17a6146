"""What the logged episodes earned."""

from typing import Any, NamedTuple

import numpy as np

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.blocks import blocks, in_order
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

    def earned(part: slice) -> tuple[int, Floats]:
        episode, time = _episodes(data, part)
        counts = np.power(gamma, time) if horizon is None else np.where(time < horizon, np.power(gamma, time), 0.0)
        worth = counts * data.rewards[part].astype(np.float64)
        return int(episode[0]), np.bincount(episode - episode[0], worth).astype(np.float64)

    for first, sums in in_order(earned, blocks(len(data))):
        total[first : first + len(sums)] += sums
    return total


def _episodes(data: Dataset, part: slice) -> tuple[Integers, Integers]:
    """Of some rows, which episode each belongs to, and its step there."""
    first, last = np.searchsorted(data.starts, (part.start, part.stop - 1), side="right") - 1
    edges = np.clip(data.starts[first : last + 2], part.start, part.stop)
    episode = np.repeat(np.arange(first, last + 1), edges[1:] - edges[:-1])
    return episode, np.arange(part.start, part.stop) - data.starts[episode]


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
    count = int(np.maximum(lengths - half, 0).sum())

    def later(part: slice) -> float:
        _, time = _episodes(data, part)
        return float(data.rewards[part][time >= half].sum(dtype=np.float64))

    total = sum(in_order(later, blocks(len(data))), 0.0)
    ends = int((ended & (lengths > half)).sum())
    return Onwards(total / max(count, 1), gamma * (1.0 - ends / max(count, 1)))


def worth_beyond(data: Dataset, gamma: float, horizon: int | None, more: Onwards) -> Floats:
    """[E] what goes on after an episode's cut-off, seen from its first step: what was done, with nothing cut off."""
    lengths, asked = np.diff(data.starts).astype(np.float64), np.inf if horizon is None else float(horizon)
    beyond = np.power(gamma, lengths) * more.worth(np.maximum(asked - lengths, 0.0))
    return np.where(_ended(data), 0.0, beyond)


def _ended(data: Dataset) -> Booleans:
    """[E] whether an episode ended by itself."""
    last = np.maximum(data.starts[1:] - 1, 0)
    return np.asarray(np.where(np.diff(data.starts) > 0, data.terminations[last], False), bool)
