"""What the log earned from its states on, and how far apart that lies.

`scale` is the yardstick of verdicts and intervals, in rewards: 90 % of the log's returns-to-go lie within so much. On
the suite it is 0.5 to 3 times the range of the policies' true values; less only where the log never gets anywhere,
more only where some episodes explode.
"""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Log

Floats = NDArray[np.float64]
EPISODES = 400  # whose returns-to-go stand for the log's


def earned_by(log: Log) -> "Earned":
    """Counted once per log."""
    return log.once(Earned, lambda: Earned(log))


class Earned:
    """What the log earned from its states on, discounted."""

    def __init__(self, log: Log):
        found = [returns_to_go(rewards, log.gamma, log.horizon) for rewards in _some_episodes(log.dataset)]
        every = np.concatenate(found) if found else np.zeros(1)
        low, high = np.quantile(every, (0.05, 0.95))
        self.least, self.most = float(every.min()), float(every.max())
        self.mean = float(np.mean([one[0] for one in found])) if found else 0.0
        self.scale = float(high - low) or (self.most - self.least) or max(abs(self.mean), 1.0)


def returns_to_go(rewards: Floats, gamma: float, horizon: int | None = None) -> Floats:
    """[T] G_t = r_t + γ G_{t+1} of one episode; of `horizon` steps, where that is all that counts."""
    backwards = accumulate(rewards[::-1].tolist(), lambda later, reward: reward + gamma * later)
    whole = np.array(list(backwards), np.float64)[::-1]
    if horizon is None or horizon >= len(whole):
        return whole
    after = np.concatenate([whole[horizon:], np.zeros(horizon)])
    return np.asarray(whole - gamma**horizon * after)


def _some_episodes(data: Dataset) -> list[Floats]:
    """Rewards of whole episodes, evenly from the log."""
    lengths = np.diff(data.starts)
    some = np.flatnonzero(lengths)
    some = some[np.unique(np.linspace(0, len(some) - 1, EPISODES).astype(np.int64))] if len(some) else some
    return [np.asarray(data.rewards[data.starts[i] : data.starts[i + 1]], np.float64) for i in some]
