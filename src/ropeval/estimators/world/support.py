"""Where the simulator stops knowing, and what is said from there on.

Members that learned from other resamples of the log agree where the log speaks and drift apart where it does not. So
their disagreement is measured in units of what is usual on the log (99 % of its rows lie below). Along a rollout

    apart ≤ 1      the log speaks about such steps: `support` is the discounted share of them
    apart > stop   the members guess: from there on the rollout is worth V_b(s), what the log itself earned from
                   states like this one (regressed on its returns, bounded by them, no bootstrapping)

`fallback` is the share of the discounted time that is left to V_b.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropeval.estimators.world.rollouts import Rollouts

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    value: float  # the estimate
    members: Doubles  # [M] every member's own rollouts to the end
    free: float  # joint rollouts to the end, whatever the members say
    log_value: float  # V_b of the initial states
    spread: float  # of the members' own rollouts to the end
    support: float  # 0–1
    fallback: float  # 0–1
    apart: float  # discounted mean of the disagreement


def anchored(found: Rollouts, good: NDArray[np.bool_], stop: float) -> Answer:
    """`good` [M]: members whose networks are sound."""
    inside = np.cumprod(found.apart[:-1] <= stop, axis=0)  # [T, R] whether a joint rollout still goes on
    before = np.concatenate([np.ones((1, inside.shape[1])), inside[:-1]])
    leaving = np.concatenate([before - inside, inside[-1:]])  # [T + 1, R] where it goes over to V_b, or ends
    joint = (inside * found.joint_reward[:-1]).sum(axis=0) + (leaving * found.joint_log_value).sum(axis=0)  # [R]
    free = found.reward[:-1].sum(axis=0) + found.log_value[-1]  # [M + 1] to the end
    weight = found.joint_weight[:-1]
    total = float(weight.sum()) or 1.0
    return Answer(
        value=float(joint.mean()),
        members=np.where(good, free[:-1], np.nan),
        free=float(free[-1]),
        log_value=float(found.log_value[0, -1]),
        spread=float(free[:-1][good].std(ddof=1)) if good.sum() > 1 else 0.0,
        support=float((weight * inside * (found.apart[:-1] <= 1.0)).sum() / total),
        fallback=float(1.0 - (weight * inside).sum() / total),
        apart=float((weight * np.minimum(found.apart[:-1], 1e3)).sum() / total),
    )
