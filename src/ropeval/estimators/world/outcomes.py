"""What rollouts tell beside the mean: how returns spread, who is still there, where it pays to start, how columns move.

An end is a weight and not an event: with d_t the chance of an end at step t, a rollout goes on with the probability
c_{t+1} = c_t·(1 − d_t). So one rollout stands for many episodes, each with its probability:

    it ends after step t     G = Σ_{u≤t} γ^u r_u                       with probability c_t − c_{t+1}
    it lasts to the horizon  G = Σ_{u<H} γ^u r_u + γ^H V_b(s_H)        with probability c_H

No end is drawn, so none is left to the luck of the draw, and the mean of all is the simulator's value to the last
digit. A rollout's expected return, Σ γ^t c_t r_t, would have that mean, too; but it hides that one patient in ten dies.
Where rewards scatter they are drawn (`reward_noise.py`), and the mean is the same but for that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.estimators.world.log_paths import BAND, LogPaths
from ropeval.estimators.world.reward_noise import RewardNoise
from ropeval.estimators.world.rollouts import Rollouts

Doubles = NDArray[np.float64]
SHARES = np.concatenate([[0.01], np.arange(1, 20) / 20, [0.99]])  # quantiles of the returns that are kept
STARTS = 128  # initial states that are kept
BINS = 8  # of an initial column, by which it is asked how much of the value it explains
LEFT = 0.02  # share of the rollouts that must go on for their band to be one
DIGITS = 5


def possible_returns(found: Rollouts, noise: RewardNoise | None = None) -> tuple[Doubles, Doubles]:
    """[n] what an episode may earn, and [n] how probable that is; from all rollouts together."""
    discount, running, going = found.discount[:, None], found.joint_running, found.joint_reward[:-1]
    ending = going  # [H, R] rewards of a last step, and of any other
    if noise is not None:
        rng = np.random.default_rng(0)
        going, ending = noise.going.draw(going, rng), noise.ending.draw(going, rng)
    earned = (discount[:-1] * going).cumsum(axis=0)  # [H, R] up to each step, if that is not the last
    ended = earned + discount[:-1] * (ending - going)
    returns = np.concatenate([ended, earned[-1:] + discount[-1:] * found.joint_last[None]])  # [H + 1, R]
    chances = np.concatenate([running[:-1] - running[1:], running[-1:]]) / running.shape[1]
    some = chances > 0
    return returns[some], chances[some]


def expected_returns(found: Rollouts) -> Doubles:
    """[R] of every rollout, over the times at which it may end."""
    rewards = (found.joint_weight * found.joint_reward)[:-1].sum(axis=0)
    return np.asarray(rewards + found.joint_weight[-1] * found.joint_last)


def outcomes(
    found: Rollouts, returns: tuple[Doubles, Doubles], initial: NDArray[np.float32], names: list[str], log: LogPaths
) -> dict[str, Any]:
    """What result.json keeps and the page draws; `initial` [R, S] are the first states of the joint rollouts."""
    return {
        "returns": {"shares": _short(SHARES), "values": _short(quantiles(*returns, SHARES))},
        "survival": None if log.survival is None else _survival(found, log, log.survival),
        "by_start": by_start(expected_returns(found), initial.astype(np.float64), names),
        "paths": _paths(found, log),
    }


def _survival(found: Rollouts, log: LogPaths, logged: Doubles) -> dict[str, Any]:
    alive = found.joint_running.mean(axis=1)
    return {"steps": log.steps.tolist(), "share": _short(alive[log.steps].round(5)), "log": _short(logged)}


def by_start(values: Doubles, initial: Doubles, names: list[str]) -> dict[str, Any]:
    """Values [R] by initial states [R, S]: one for each different state, against the column that tells most of it."""
    states, place, count = np.unique(initial, axis=0, return_inverse=True, return_counts=True)
    own = np.bincount(place.reshape(-1), values) / count  # [n]
    told = [explained(column, own) for column in states.T]
    column = int(np.argmax(told))
    kept = np.unique(np.linspace(0, len(own) - 1, min(STARTS, len(own))).astype(int))
    kept = np.argsort(states[:, column], kind="stable")[kept]
    return {
        "column": names[column],
        "explained": round(told[column], 3),
        "states": len(own),
        "rollouts": round(len(values) / len(own), 1),
        "at": _short(states[kept, column]),
        "values": _short(own[kept]),
    }


def explained(column: Doubles, values: Doubles) -> float:
    """Share of the variance of values [n] between bins of a column [n]; 0 where the one or the other is constant."""
    total = float(values.var())
    edges = np.unique(np.quantile(column, np.arange(1, BINS) / BINS))
    place = np.searchsorted(edges, column)
    count = np.bincount(place)
    if total == 0.0 or (count > 0).sum() < 2:
        return 0.0
    means = np.bincount(place, values) / np.maximum(1, count)
    return float((count * (means - values.mean()) ** 2).sum() / (len(values) * total))


def _paths(found: Rollouts, log: LogPaths) -> dict[str, Any]:
    """Of every pictured column its mean and band over time, among the rollouts that still run; and the log's own."""
    columns = []
    for place, name in enumerate(log.names):
        bands = np.array([_band(found.pictured[t, :, place], found.joint_running[t]) for t in log.steps])  # [T, 3]
        own = {key: _short(bands[:, i]) for i, key in enumerate(("mean", "low", "high"))}
        logged = {key: _short(log.bands[:, place, i]) for i, key in enumerate(("log_mean", "log_low", "log_high"))}
        columns.append({"name": name, **own, **logged})
    return {"steps": log.steps.tolist(), "columns": columns}


def _band(values: Doubles, weights: Doubles) -> Doubles:
    """[3] mean, 10 % and 90 %; nan where hardly anybody is left."""
    if weights.mean() < LEFT:
        return np.full(3, np.nan)
    return np.array([np.average(values, weights=weights), *quantiles(values, weights, np.array(BAND))])


def quantiles(values: Doubles, weights: Doubles, shares: Doubles) -> Doubles:
    """The smallest value below or at which lies each share of the weight."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return np.asarray(
        values[order][np.minimum(np.searchsorted(reached, (shares - 1e-12) * reached[-1]), len(order) - 1)]
    )


def _short(values: NDArray[Any]) -> list[float | None]:
    """As in JSON: five digits, and None for what is not known."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in values.tolist()]
