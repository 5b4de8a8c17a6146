"""Where the simulator stops knowing, and what is said instead.

Members that learned from other resamples of the log agree where the log speaks and drift apart where it does not. Their
disagreement along a rollout is measured in units of what is usual on the log (99 % of its rows lie below 1). An action
outside the logged range counts, too, since networks may agree where none has been. With `apart` the discounted mean,

    ρ̂ = w·V_sim + (1 − w)·V_b,      w = 1 / (1 + (apart/doubt)^8)

V_b is what the log itself earned from such initial states, regressed on its returns: bounded by them, no
bootstrapping. `support` is the discounted share of the time at which members are no further apart than usual,
`fallback` is 1 − w: how much of the number is the log's own. `strayed` is the discounted share of the time in states
outside all logged ones, where networks may agree, too: the number does not go by it, its verdict does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropeval.estimators.world.rollouts import Rollouts

Doubles = NDArray[np.float64]


STEEPNESS = 8  # of the change from simulator to log: half of it happens between 0.9 and 1.15 times `doubt`
FAR = 1e3  # further apart than this is not worse


@dataclass(frozen=True)
class Answer:
    value: float  # the estimate
    simulated: float  # V_sim: joint rollouts
    members: Doubles  # [M] the same by every member on its own
    log_value: float  # V_b of the initial states
    spread: float  # of the members
    support: float  # 0–1
    fallback: float  # 0–1
    apart: float
    strayed: float  # 0–1


def answer(found: Rollouts, good: NDArray[np.bool_], doubt: float, horizon: int | None = None) -> Answer:
    """`good` [M]: members whose networks are sound; `horizon`: steps that count; None: all, the last ones by V_b."""
    found = found if horizon is None else found.within(horizon)
    to_the_end = found.reward[:-1].sum(axis=0) + found.last_value  # [M + 1]
    members, simulated = np.where(good, to_the_end[:-1], np.nan), float(to_the_end[-1])
    log_value = float(found.first_value[-1])
    counted = slice(horizon)
    weight = found.joint_weight[counted] / found.joint_weight[counted].sum()  # [T, R] of the discounted time
    disagreed = found.apart[counted]
    apart = float((weight * np.minimum(disagreed, FAR)).sum())
    trusted = 1.0 / (1.0 + (apart / doubt) ** STEEPNESS)
    return Answer(
        value=trusted * simulated + (1.0 - trusted) * log_value,
        simulated=simulated,
        members=members,
        log_value=log_value,
        spread=float(members[good].std(ddof=1)) if good.sum() > 1 else 0.0,
        support=float(weight[disagreed <= 1.0].sum()),
        fallback=1.0 - trusted,
        apart=apart,
        strayed=float((weight * found.strayed[counted]).sum()),
    )
