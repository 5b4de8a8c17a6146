"""Training that was too short for what is asked, by reason and not by what the curves look like.

**What bootstraps.** After n steps the moving average q̄ has made B = n·τ backups, one after the other (`Backups`). It
moves by dq̄/dB = Tq̄ − q̄, so q̄ is the mean of T^N q₀, and N, the steps that it has seen ahead, is Poisson around B. Of
the weight Σ γ^t of the H steps that count, with S(n) = Σ_{t<n} γ^t,

    unseen = E_N[ S(H) − S(min(N, H)) ] / S(H),      which is exp(−B·(1−γ)) where nothing ends

cannot have reached it, however well q fits its targets.

**A simulator** that was hardly trained takes its own error for chance. What it does not foresee of held-out rows may be
either, but after n steps no more than about `LEFT`/n is still to be learned: the smaller of the two is doubtful.

docs/guide/trust.md has the measurements behind both.
"""

from math import ceil, inf, log10
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ropeval.data import Dataset
from ropeval.data.returns import discounted_steps
from ropeval.estimators.estimator import Backups
from ropeval.evaluation.diagnosis.about_log import MOSTLY_CUT, cut_off
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.result import Finding, Severity
from ropeval.evaluation.verdict.rule import BY_REASON

ENOUGH = 0.05  # unseen after as many steps as are advised
LEFT = 100.0  # measured: 3 to 78, on tasks without chance of 3 to 12 columns


class Short(NamedTuple):
    share: float  # of what counts that cannot have been learned
    message: str
    steps: int  # that would be enough
    numbers: dict[str, float]


def too_short(e: Evidence) -> Finding | None:
    found = shortness(e)
    limit, far = BY_REASON["short"]
    if found is None or found.share <= limit:
        return None
    severity: Severity = "severe" if found.share > far and not mended(e) else "warning"
    advice = f"give it at least {found.steps:,} --steps"
    return Finding("too-short", severity, found.message, advice, found.numbers)


def shortness(e: Evidence) -> Short | None:
    """None where nothing was trained that this can be told of."""
    if e.value is None:
        return None
    if e.estimated.backups is not None:
        return _of_backups(e, e.estimated.backups)
    told = e.estimated.extras
    return _of_simulator(told["unexplained"], told["steps"]) if "unexplained" in told else None


def mended(e: Evidence) -> bool:
    """Whether importance weights make up for what was not learned: then there is more chance in it, and no error."""
    return e.estimated.backups is not None and e.estimated.backups.mended


def _of_backups(e: Evidence, made: Backups) -> Short:
    gamma, counted = e.problem.gamma, steps_that_count(e.problem.dataset, e.problem.horizon)
    share = unseen(made.seen, gamma, counted)
    looks = inf if gamma == 1.0 else 1.0 / (1.0 - gamma)
    asked = f"by γ = {gamma:g}, {looks:.4g} steps on average" if looks <= counted else f"{counted:.0f} steps"
    far = f"{made.seen:.3g} step" + ("" if f"{made.seen:.3g}" == "1" else "s")
    lacks = ", and its weights must bring the rest" if made.mended else ""
    return Short(
        share,
        f"{made.training:,} steps of training with τ = {made.tau:g} see about {far} ahead; about {share:.0%} of what "
        f"counts ({asked}) cannot have reached the estimate{lacks}",
        _round_up(backups_for(ENOUGH, gamma, counted) * made.training / made.seen),
        {"unseen": share, "backups": made.seen, "ahead": min(looks, counted), "steps": made.training},
    )


def _of_simulator(unexplained: float, steps: int) -> Short:
    return Short(
        min(unexplained, LEFT / steps),
        f"of what happened in held-out rows the simulator foresees {1.0 - unexplained:.0%}, and takes the rest for "
        f"chance; after {steps:,} steps of training it may as well be what it has not learned yet",
        _round_up(LEFT / BY_REASON["short"].harmless),
        {"unexplained": unexplained, "steps": steps},
    )


def steps_that_count(data: Dataset, horizon: int | None) -> float:
    """The horizon, or as many as the longest episode has where most end by themselves; else there is no end."""
    longest = inf if cut_off(data) >= MOSTLY_CUT else float(np.diff(data.starts).max())
    return min(longest, inf if horizon is None else horizon)


def unseen(backups: float, gamma: float, steps: float) -> float:
    """0–1: the share of the discounted weight of so many steps, or of all, that so many backups cannot have brought."""
    if steps == inf:
        return float(np.exp(-backups * (1.0 - gamma)))
    seen = np.arange(int(steps))
    chance = np.exp(seen * np.log(backups) - backups - gammaln(seen + 1))  # of Poisson's distribution
    whole = float(discounted_steps(gamma, steps))
    return float(chance @ (whole - discounted_steps(gamma, seen))) / whole


def backups_for(share: float, gamma: float, steps: float) -> float:
    """How many leave no more than this share unseen."""
    least, most = 0.0, 1.0
    while unseen(most, gamma, steps) > share:
        least, most = most, 2.0 * most
    while most - least > 1e-3 * most:
        middle = (least + most) / 2.0
        least, most = (middle, most) if unseen(middle, gamma, steps) > share else (least, middle)
    return most


def _round_up(steps: float) -> int:
    """To two digits."""
    unit = 10.0 ** max(0, int(log10(steps)) - 1)
    return int(ceil(steps / unit) * unit)
