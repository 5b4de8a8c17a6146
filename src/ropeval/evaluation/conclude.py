"""What the members' estimates come to: which of them count, the estimate, its interval. Benchmarks ask here, too."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Log
from ropeval.data.bounds import ANYTHING, Bounds
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.diagnosis.evidence import diverged_members, used_members
from ropeval.evaluation.earned import earned_by
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.interval import UNSEEN, make_interval, within
from ropeval.evaluation.methods import Method
from ropeval.evaluation.options import DEFAULT_LEVEL, Kind
from ropeval.evaluation.result import Interval
from ropeval.learning.resample import Resamples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conclusion:
    value: float | None  # the estimate; None: every member diverged
    interval: Interval | None  # None where nothing was resampled, or nothing can be said
    good: Floats  # estimates of the members that count
    replicates: Floats  # [M] or [B] what resampled logs make of it
    diverged: NDArray[np.bool_]  # [M]
    left_out: NDArray[np.bool_]  # [M] those that did not diverge, but are beyond what the rewards allow
    bounds: Bounds  # no estimate and no end of an interval lies beyond


def conclude(
    fitted: Fitted,
    method: Method,
    resamples: Resamples | None,
    level: float = DEFAULT_LEVEL,
    kind: Kind = "percentile",
) -> Conclusion:
    estimated, values = fitted.estimated, fitted.estimated.values
    diverged = diverged_members(fitted.trained, values, fitted.problem.reward_bound)
    bounds = _bounds(fitted, method)
    used = used_members(values, diverged, bounds)
    value, replicates = estimated.answer(~used)
    value = None if value is None else float(bounds.cut(np.array(value)))
    interval = None
    if resamples is not None:
        counts = partial(resamples.counts, 0, len(replicates))
        unseen = unseen_error(fitted.problem.log, estimated, ESTIMATORS[method.estimator].sees_policy)
        interval = make_interval(value, replicates, resamples.episodes, level, kind, counts, unseen)
    return Conclusion(
        value,
        interval and within(interval, bounds, bool(bounds.outside(values[used]).any())),
        bounds.cut(values[used]),
        replicates,
        diverged,
        ~used & ~diverged,
        bounds,
    )


def unseen_error(log: Log, estimated: Estimated, sees_policy: bool) -> float:
    """What resampling does not show of an estimate's error, in rewards: nothing where the policy is not looked at. Of
    weights, the less the more episodes carry some: those of the policy that wrote the log are right."""
    if not sees_policy:
        return 0.0
    unseen = UNSEEN * earned_by(log).scale
    if estimated.effective is None or estimated.q is not None:
        return unseen
    return unseen * float(np.sqrt(max(1.0 - estimated.effective.size / log.dataset.num_episodes, 0.0)))


def _bounds(fitted: Fitted, method: Method) -> Bounds:
    """What the estimate can be. A baseline is a fact about the log; a return up to a cut-off may be below any value."""
    if not ESTIMATORS[method.estimator].sees_policy:
        return ANYTHING
    bounds = fitted.problem.log.bounds
    return bounds if fitted.estimated.q is not None else bounds.with_zero()
