"""What can be seen of an estimate without knowing the truth, as plain numbers without a unit.

scale       how far apart values lie, as far as the log shows (`earned.py`); what is called a share is one of it
spread      standard deviation of the estimate over resampled logs and seeds, as a share
cut         share of what counts that lies after episodes were cut off; beyond half, nothing is known of the log's worth
moved       how far the estimate lies from what the log itself earned, as a share; of a simulator by its V_b, since
            where episodes were cut off, what was earned up to there is less than what the log's behaviour is worth
beyond      how far it lies above or below all that the log ever earned from any state on, as a share
outside     share of the policy's actions in logged states that are unlike all logged ones (`coverage.py`)
episodes    how many the log has
lost        share of the members that diverged or cannot be right
effective   effective number of episodes behind importance weights, and `weight`, the mean weight, which should be 1
differ      how far apart it, what the log earned and, by the same simulator, actions at random lie, as a share: what
            policies differ by, as far as can be told where only one is judged
support, fallback, apart, strayed    of a simulator (`estimators/world/support.py`), and
members     how many it has left
alike       1 where all of them learned from the same log, not each from a resample
short       share of what counts that cannot have been learned, since training was too short (`about_training.py`)
memory      how far what surprised it at one step foretells what surprises it at the next: what no state shows
foretold    share of what surprises it that the step before explains: likewise
replay      how far it is off when logged episodes are replayed in it, in standard deviations of their returns

A sign that a method does not have is left out.
"""

import numpy as np

from ropeval.data.returns import MOST_SUPPOSED
from ropeval.estimators.estimator import Estimated
from ropeval.evaluation.conclude import Conclusion
from ropeval.evaluation.diagnosis.about_training import mended, shortness
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.earned import earned_by

Signs = dict[str, float]
REPLAYED = (10, 50)  # steps


def read_signs(e: Evidence, said: Conclusion, alone: bool = False) -> Signs:
    """`alone`: no other policy is judged, by which lengths could be measured."""
    if said.value is None:
        return {}
    earned = earned_by(e.problem.log)
    replicates = said.replicates[np.isfinite(said.replicates)]
    cut = e.problem.log.beyond_cuts
    worth = e.estimated.extras.get("log_value", earned.mean) if cut <= MOST_SUPPOSED else None  # of the log
    signs: dict[str, float | None] = {
        "scale": earned.scale,
        "spread": float(replicates.std(ddof=1)) / earned.scale if len(replicates) > 1 else None,
        "moved": None if worth is None else abs(said.value - worth) / earned.scale,
        "beyond": max(said.value - earned.most, earned.least - said.value, 0.0) / earned.scale,
        "outside": e.coverage.outside if e.coverage else None,
        "episodes": float(e.problem.dataset.num_episodes),
        "cut": cut,
        "lost": float((said.diverged | said.left_out).mean()),
        "short": None if (short := shortness(e)) is None or mended(e) else short.share,
        **_weights(e),
        **_simulator(e, said),
        "differ": _differ(e.estimated, said.value, worth, earned.scale) if alone else None,
    }
    return {name: float(value) for name, value in signs.items() if value is not None and np.isfinite(value)}


def _differ(estimated: Estimated, value: float, worth: float | None, scale: float) -> float | None:
    """`worth`: of the log, where it is known."""
    if estimated.at_random is None:
        return None
    lie = [value, estimated.at_random(), *([] if worth is None else [worth])]
    return (max(lie) - min(lie)) / scale


def _weights(e: Evidence) -> dict[str, float | None]:
    effective = e.estimated.effective
    return {} if effective is None else {"effective": effective.size, "weight": effective.mean}


def _simulator(e: Evidence, said: Conclusion) -> dict[str, float | None]:
    told = e.estimated.extras
    if "support" not in told:
        return {}
    off = [
        abs(one["predicted"] - one["logged"]) / max(one["logged_std"], 1e-12)
        for one in told["replays"]
        if one["steps"] in REPLAYED and np.isfinite(one["predicted"])
    ]
    return {name: told.get(name) for name in ("support", "fallback", "apart", "strayed", "memory", "foretold")} | {
        "members": float(len(said.good)),
        "alike": float(e.run.resamples is None),
        "replay": max(off, default=None),
    }
