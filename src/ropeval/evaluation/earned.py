"""What the log earned from its states on, and how far apart that lies.

`scale` is the yardstick of verdicts and intervals, in rewards: 90 % of the log's returns-to-go lie within so much. On
the suite it is 0.5 to 3 times the range of the policies' true values; less only where the log never gets anywhere,
more only where some episodes explode.

Returns count up to the end of the log's episodes. Where episodes were cut off, they also differ by when that was, and
of rewards around −1000 by little else. So they are also looked at with what goes on after a cut (`onwards`): the scale
is at most `CUTS` times what these differ by, and the log has earned all between the least and the most of both.

Where most returns are the same, and few are far from them (one in ten dies, one in fifteen buys), the size of those few
would say that all estimates are near each other: the scale is at most `FEW` times the mean distance from the median.
Where nine of ten are the same, it is that distance itself.
"""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Log

Floats = NDArray[np.float64]
EPISODES = 400  # whose returns-to-go stand for the log's
CUTS = 10.0  # only where more than nine tenths of the scale are the cuts'
FEW = 6.0  # 33 logs of the suite have 3.2 to 5.6; of a normal distribution it is 4.1


def earned_by(log: Log) -> "Earned":
    """Counted once per log."""
    return log.once(Earned, lambda: Earned(log))


class Earned:
    """What the log earned from its states on, discounted."""

    def __init__(self, log: Log):
        some = _some_episodes(log.dataset) or [(np.zeros(1), False)]
        found = [returns_to_go(rewards, log.gamma, log.horizon) for rewards, _ in some]
        every, lasting = np.concatenate(found), np.concatenate(_lasting(found, [cut for _, cut in some], log))
        whole = log.returns  # of all, since what is rare may be what counts
        self.least = float(min(every.min(), lasting.min(), whole.min(initial=np.inf)))
        self.most = float(max(every.max(), lasting.max(), whole.max(initial=-np.inf)))
        self.mean = float(np.mean([one[0] for one in found]))
        width = min(_width(every), FEW * float(np.abs(every - np.median(every)).mean()))
        if width > CUTS * _width(lasting) > 0.0:
            width = CUTS * _width(lasting)
        rare = float(np.abs(whole - np.median(whole)).mean()) if len(whole) else 0.0
        self.scale = width or rare or max(abs(self.mean), 1.0)


def _width(values: Floats) -> float:
    low, high = np.quantile(values, (0.05, 0.95))
    return float(high - low)


def _lasting(found: list[Floats], cut: list[bool], log: Log) -> list[Floats]:
    """Returns-to-go of each episode [T], with what goes on after a cut."""
    more, steps = log.onwards, log.horizon or np.inf
    left = [np.arange(len(one), 0, -1.0) for one in found]  # steps to the end of the episode
    beyond = [log.gamma**to_go * more.worth(np.maximum(steps - to_go, 0.0)) for to_go in left]
    return [one + later * was_cut for one, later, was_cut in zip(found, beyond, cut, strict=True)]


def returns_to_go(rewards: Floats, gamma: float, horizon: int | None = None) -> Floats:
    """[T] G_t = r_t + γ G_{t+1} of one episode; of `horizon` steps, where that is all that counts."""
    backwards = accumulate(rewards[::-1].tolist(), lambda later, reward: reward + gamma * later)
    whole = np.array(list(backwards), np.float64)[::-1]
    if horizon is None or horizon >= len(whole):
        return whole
    after = np.concatenate([whole[horizon:], np.zeros(horizon)])
    return np.asarray(whole - gamma**horizon * after)


def _some_episodes(data: Dataset) -> list[tuple[Floats, bool]]:
    """Rewards of whole episodes, evenly from the log, and whether they were cut off."""
    lengths = np.diff(data.starts)
    some = np.flatnonzero(lengths)
    some = some[np.unique(np.linspace(0, len(some) - 1, EPISODES).astype(np.int64))] if len(some) else some
    return [
        (np.asarray(data.rewards[start:end], np.float64), not bool(data.terminations[end - 1]))
        for start, end in zip(data.starts[some], data.starts[some + 1], strict=True)
    ]
