"""Which policy is best, and how sure is that? Compared within the same resamples, and scored where the truth is known.

Replicate b of every policy comes from the same resampled log and, where something is learned, from the same seed. With
many replicates, probabilities are shares of them. With few they are those of a multivariate t distribution with the
replicates' mean and covariance. Either way each policy has an error of its own besides, as large as its interval
allows for (`Interval.unseen`).

The scores are those of the DOPE benchmark (Fu et al. 2021, "Benchmarks for deep off-policy evaluation"), for true
values V and estimates V̂ of the policies:

    absolute_error          mean of |V̂ − V|
    spearman                rank correlation of V̂ and V
    regret@k                max V − (largest V among the k policies with the largest V̂)
    normalised_regret@k     the same as a share of max V − min V
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.evaluation.interval import TAIL
from ropeval.evaluation.result import Estimate, Ranking

Floats = NDArray[np.float64]
Truth = Mapping[str, float]  # policy -> true value
ENOUGH = int(TAIL / 0.025)  # replicates from which on shares are probabilities
DRAWS = 20_000  # from which shares are counted
TOP = (1, 3, 5)
LARGEST = sys.float_info.max  # JSON has larger numbers


def checked_truth(given: Any, policies: Sequence[str], source: str) -> dict[str, float]:
    """True values of some of the policies; refused where they are of none."""
    if not isinstance(given, Mapping):
        raise UserError(f'{source}: expected an object of names and values, for example {{"policy": 12.3}}')
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not -LARGEST <= value <= LARGEST:
            raise UserError(f"{source}: the true value of {name!r} is {value!r}; it must be a finite number")
    found = {name: float(given[name]) for name in policies if name in given}
    if not found:
        names, known = ", ".join(map(repr, policies)), ", ".join(map(str, given)) or "nothing"
        raise UserError(f"{source}: it holds no value for {names}; found {known}")
    return found


def rank(results: Sequence[Estimate], episodes: int, truth: Truth | None = None) -> list[Ranking]:
    """One ranking per method that tells at least two policies apart."""
    rankings = []
    for method in dict.fromkeys(r.method for r in results):
        found = [r for r in results if r.method == method and r.value is not None]
        if len({r.value for r in found}) > 1:
            rankings.append(_rank_method(method, found, episodes, truth))
    return rankings


def _rank_method(method: str, found: list[Estimate], episodes: int, truth: Truth | None) -> Ranking:
    ordered = sorted(found, key=lambda r: -(r.value or 0.0))
    names, values = [r.policy for r in ordered], np.array([r.value for r in ordered], np.float64)
    many = min(len(r.replicates) for r in ordered)
    replicates = np.array([[np.nan if v is None else v for v in r.replicates[:many]] for r in ordered])  # [P, B]
    replicates = replicates[:, np.isfinite(replicates).all(axis=0)]
    unseen = np.array([r.interval.unseen if r.interval else 0.0 for r in ordered])
    best, beats = probabilities(values, replicates, episodes, unseen)
    return Ranking(
        method,
        names,
        values.tolist(),
        best.tolist(),
        beats.tolist(),
        replicates.shape[1] if episodes > 1 else 0,  # resamples of one episode are all the same
        scores(dict(zip(names, values.tolist(), strict=True)), truth) if truth else None,
    )


def probabilities(
    values: Floats, replicates: Floats, episodes: int, unseen: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """P(best) [P] and P(i beats j) [P, P] for estimates [P] with replicates [P, B] and what these do not show [P]."""
    count = replicates.shape[1]
    if count < 2 or episodes < 2:  # nothing is known about the luck of the log
        return np.full(len(values), 1.0 / len(values)), np.full((len(values), len(values)), 0.5)
    centred = replicates - replicates.mean(axis=1, keepdims=True)  # [P, B]
    rng = np.random.default_rng(0)
    if count >= ENOUGH:
        drawn = centred[:, np.arange(DRAWS // count * count) % count]  # every replicate equally often
    else:
        freedom = min(count, episodes) - 1
        widening = np.sqrt((1.0 + 1.0 / count) * episodes / (episodes - 1) / (count - 1))
        normal = centred @ rng.standard_normal((count, DRAWS)) * widening  # with the covariance of the replicates
        drawn = normal * np.sqrt(freedom / rng.chisquare(freedom, DRAWS))[None]
    own = rng.standard_normal(drawn.shape) * np.broadcast_to(unseen, len(values))[:, None]
    return _shares(values[:, None] + drawn + own)


def _shares(drawn: Floats) -> tuple[Floats, Floats]:
    """Of draws [P, n]: how often each is the largest, and how often larger than each other. Ties are shared."""
    top = drawn == drawn.max(axis=0, keepdims=True)
    best = (top / top.sum(axis=0, keepdims=True)).mean(axis=1)
    beats = np.stack([(one > drawn).mean(axis=1) + 0.5 * (one == drawn).mean(axis=1) for one in drawn[:, None]])
    return best, beats


def scores(estimates: Mapping[str, float], truth: Truth) -> dict[str, float] | None:
    """Of the policies whose true value is known; None where there are fewer than two."""
    names = [name for name in estimates if name in truth]
    if len(names) < 2:
        return None
    guess, true = (np.array([source[name] for name in names], np.float64) for source in (estimates, truth))
    result = {"absolute_error": float(np.abs(guess - true).mean())}
    if np.ptp(guess) > 0.0 and np.ptp(true) > 0.0:
        from scipy.stats import spearmanr

        result["spearman"] = float(spearmanr(guess, true).statistic)
    order = np.argsort(-guess, kind="stable")
    for k in [k for k in TOP if k < len(names)]:
        result[f"regret@{k}"] = float(true.max() - true[order[:k]].max())
        if np.ptp(true) > 0.0:
            result[f"normalised_regret@{k}"] = result[f"regret@{k}"] / float(np.ptp(true))
    return result
