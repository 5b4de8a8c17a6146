"""What can be seen of an estimate without knowing the truth, as plain numbers without a unit.

scale       how far apart values lie, as far as the log shows: 90 % of its returns-to-go lie within so much. In rewards.
            On the suite it is 0.5 to 3 times the range of the policies' true values; less only where the log never
            gets anywhere, more only where some episodes explode. What follows is a share of it where it says so
spread      standard deviation of the estimate over resampled logs and seeds, as a share
moved       how far the estimate lies from what the log itself earned, as a share
beyond      how far it lies above or below all that the log ever earned from any state on, as a share
outside     share of the policy's actions in logged states that are unlike all logged ones (`coverage.py`)
episodes    how many the log has
lost        share of the members that diverged or cannot be right
effective   effective number of episodes behind importance weights, and `weight`, the mean weight, which should be 1
support, fallback, apart    of a simulator (`estimators/world/support.py`), and
replay      how far it is off when logged episodes are replayed in it, in standard deviations of their returns

A sign that a method does not have is left out.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Log
from ropeval.evaluation.conclude import Conclusion
from ropeval.evaluation.diagnosis.evidence import Evidence

Floats = NDArray[np.float64]
Signs = dict[str, float]
EPISODES = 400  # whose returns-to-go stand for the log's
REPLAYED = (10, 50)  # steps


def read_signs(e: Evidence, said: Conclusion) -> Signs:
    if said.value is None:
        return {}
    earned = e.problem.log.once(Earned, lambda: Earned(e.problem.log))
    replicates = said.replicates[np.isfinite(said.replicates)]
    signs: dict[str, float | None] = {
        "scale": earned.scale,
        "spread": float(replicates.std(ddof=1)) / earned.scale if len(replicates) > 1 else None,
        "moved": abs(said.value - earned.mean) / earned.scale,
        "beyond": max(said.value - earned.most, earned.least - said.value, 0.0) / earned.scale,
        "outside": e.coverage.outside if e.coverage else None,
        "episodes": float(e.problem.dataset.num_episodes),
        "lost": float((said.diverged | said.left_out).mean()),
        **_weights(e),
        **_simulator(e.estimated.extras),
    }
    return {name: float(value) for name, value in signs.items() if value is not None and np.isfinite(value)}


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


def _weights(e: Evidence) -> dict[str, float | None]:
    effective = e.estimated.effective
    return {} if effective is None else {"effective": effective.size, "weight": effective.mean}


def _simulator(told: dict[str, Any]) -> dict[str, float | None]:
    if "support" not in told:
        return {}
    off = [
        abs(one["predicted"] - one["logged"]) / max(one["logged_std"], 1e-12)
        for one in told["replays"]
        if one["steps"] in REPLAYED and np.isfinite(one["predicted"])
    ]
    return {name: told[name] for name in ("support", "fallback", "apart")} | {"replay": max(off, default=None)}
