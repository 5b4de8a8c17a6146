"""Which setting stands for a method, and how two of them compare.

*best†* and *worst‡* are chosen with the true value, for each definition of it apart. *median* is the median over
settings of their IQM: nothing is chosen. A method that was run at one setting has one number for all three.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ropeval.bench.results.scores import Floats, Interval, iqm, resampled_iqm, with_interval
from ropeval.bench.results.summary import Summary, median

PICKS = {"best": "best†", "median": "median", "worst": "worst‡"}
CHOSEN = (
    "† the setting with the lowest, ‡ with the highest IQM, both chosen with the true value, which nobody has in "
    "practice; median: the median over settings, nothing chosen."
)
SURE = 0.975  # of the resamples


class Pick(NamedTuple):
    """The IQM of RMAE of a method on a task, at a setting that was picked in one of three ways."""

    value: float
    samples: Floats  # [B] bootstrap; tasks and settings stay, seeds are drawn anew
    hyper: str  # empty for the median

    @property
    def interval(self) -> Interval:
        return with_interval(self.value, self.samples)


def pick(summary: Summary, truth: str, task: str, method: str, how: str) -> Pick | None:
    """None where nothing was run or the error is undefined."""
    errors = summary.errors(truth, task, method)
    if not errors:
        return None
    values = {hyper: float(iqm(own)) for hyper, own in errors.items()}
    if how == "median":
        samples = np.stack([resampled_iqm(own) for own in errors.values()])  # [S, B]
        return Pick(float(median(np.array(list(values.values())))), median(samples), "")
    sign = 1 if how == "best" else -1
    # Ties, as between settings that all diverged, go by how many runs did, then by name.
    hyper = min(values, key=lambda h: (sign * values[h], sign * int(np.isinf(errors[h]).sum()), h))
    return Pick(values[hyper], resampled_iqm(errors[hyper]), hyper)


def chance(own: Pick, rival: Pick) -> float:
    """The share of bootstrap resamples in which `own` has the lower IQM; ties count half, as of two that diverged."""
    shuffled = np.random.default_rng(1).permutation(rival.samples)  # the two methods' seeds are drawn independently
    return float(np.mean(own.samples < shuffled) + 0.5 * np.mean(own.samples == shuffled))


def outcome(own: Pick | None, rival: Pick | None) -> str:
    """better, worse, or undecided where other seeds could turn it round; – where one of them was not run."""
    if own is None or rival is None:
        return "–"
    share = chance(own, rival)
    return "better" if share >= SURE else "worse" if share <= 1 - SURE else "undecided"


def tally(outcomes: Sequence[str]) -> str:
    """ "5 better, 1 undecided, 3 worse"."""
    judged = [o for o in outcomes if o != "–"]
    return ", ".join(f"{judged.count(word)} {word}" for word in ("better", "undecided", "worse")) if judged else "–"


def improvement(own: Sequence[Floats], rival: Floats, resamples: int = 1_000) -> Interval:
    """The probability that a run of `own`, of any of its settings, has a lower error than a run of `rival`.

    Ties count half. The bootstrap draws runs within each setting.
    """
    rng = np.random.default_rng(0)
    mine = np.concatenate(own)
    wins = (mine[:, None] < rival[None, :]) + 0.5 * (mine[:, None] == rival[None, :])  # [n, m]
    mine_drawn = np.concatenate([rng.multinomial(len(s), np.full(len(s), 1 / len(s)), resamples) for s in own], axis=1)
    rival_drawn = rng.multinomial(len(rival), np.full(len(rival), 1 / len(rival)), resamples)
    samples = np.einsum("bn,nm,bm->b", mine_drawn, wins, rival_drawn, optimize=True) / wins.size
    return with_interval(float(wins.mean()), samples)
