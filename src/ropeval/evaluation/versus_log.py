"""The policy against the log: how much more it would earn than what was done, and how sure that is.

Both are taken from the same resamples of the episodes, so that luck which they share cancels out. What the log earned
is the mean return of its episodes. A method that looks beyond a cut-off is compared with returns that go on there, as
at the log's later steps; one that stops at the cut-offs with returns that stop there, too. Where more than half of what
counts lies beyond the cut-offs, more of such a return is supposed than seen, and nothing is compared with it.
"""

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Problem
from ropeval.data.returns import MOST_SUPPOSED
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.interval import make_interval
from ropeval.evaluation.options import DEFAULT_LEVEL
from ropeval.evaluation.rank import probabilities
from ropeval.evaluation.result import Interval, Versus
from ropeval.learning.resample import Resamples

Floats = NDArray[np.float64]


def logged_returns(problem: Problem, estimated: Estimated) -> Floats | None:
    """[E] as the method looks at an episode's end; None where too little of them was seen."""
    stops_at_cut = estimated.effective is not None and estimated.q is None  # importance sampling without a q
    log = problem.log
    if stops_at_cut:
        return log.returns
    return None if log.beyond_cuts > MOST_SUPPOSED else log.continued_returns


def compare_with_log(
    value: float | None,
    replicates: Floats,
    interval: Interval | None,
    returns: Floats | None,
    resamples: Resamples | None,
    held: NDArray[np.bool_] | None = None,
    level: float = DEFAULT_LEVEL,
) -> Versus | None:
    """`value` with its `replicates` [B] against `returns` [E] of the episodes that are `held`; None: all are.

    None where there is no estimate, or one that the rewards do not allow, or nothing to compare it with.
    """
    if value is None or returns is None or (interval is not None and interval.kind == "bounds"):
        return None
    held = np.ones(len(returns), bool) if held is None else held
    earned = float(returns[held].mean())
    difference = value - earned
    if resamples is None or interval is None:
        return Versus(earned, difference)
    counts = resamples.counts(0, len(replicates)) * held[None]  # [B, E]
    with np.errstate(invalid="ignore"):
        logged = counts @ returns / counts.sum(axis=1)  # [B] by the same resamples
    finite = np.isfinite(replicates) & np.isfinite(logged)
    own, logged, episodes = replicates[finite], logged[finite], int(held.sum())
    found = make_interval(difference, own - logged, episodes, level, unseen=interval.unseen)
    if found is None:
        return Versus(earned, difference)
    _, beats = probabilities(
        np.array([value, earned]), np.stack([own, logged]), episodes, np.array([interval.unseen, 0.0])
    )
    return Versus(earned, difference, found.low, found.high, level, float(beats[0, 1]))
