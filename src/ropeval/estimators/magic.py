"""MAGIC: a blend of all that lies between a fitted q and the weighted doubly robust estimate, by their likely errors.

    g_j = 1/E Σ_e V(s₀) + Σ_{t≤j} γ^t Σ_e ( ρ_t / Σ_e ρ_t ) δ_t,          j = −1, 0, 1, …, T−1
    ρ̂ = Σ_j x_j g_j,        x = argmin  xᵀ( Ω + b bᵀ ) x   over  x ≥ 0, Σ_j x_j = 1

with ρ_t of `importance.py` and δ_t of `doubly_robust.py`. g_{−1} is q's own word, g_j corrects it by what was logged up
to step j, and g_{T−1} is `wdr`. Ω is their covariance, from the episodes' shares in each; b_j, the bias, is how far g_j
lies from an interval for `wdr`, from resampled episodes. A good q with wild weights is left alone, and a bad one is
corrected as far as the weights carry.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.data import Problem
from ropeval.estimators.behaviour import Behaviour
from ropeval.estimators.doubly_robust import WDR, DoublyRobustConfig, temporal_differences
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import fit_q
from ropeval.estimators.importance_weights import Counts, Episodes, effective_sample, make_weights, prepare
from ropeval.learning.engine import Run

LENGTHS = 24  # partial sums that are blended, q's own and `wdr` among them
REPLICATES = 200  # resampled logs behind the interval for `wdr`, and
INTERVAL = (5.0, 95.0)  # the percentiles that it lies between
BLOCK = 64  # steps of all episodes at a time


class Partial(NamedTuple):
    """The sums g_j for some j, and what each episode adds to them."""

    shares: Float[Floats, "E J"]  # their sum over the episodes is g
    replicates: Float[Floats, " B"]  # `wdr` of resampled logs

    @property
    def sums(self) -> Float[Floats, " J"]:
        return np.asarray(self.shares.sum(axis=0))


class Blend(NamedTuple):
    value: float
    x: Float[Floats, " J"]  # weight of every partial sum; the first is q's


def lengths(longest: int) -> Int[Integers, " J"]:
    """Steps that are corrected: 0, 1, 2, 4, … up to all, at most LENGTHS of them."""
    spaced = np.geomspace(1, max(1, longest), LENGTHS - 1).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spaced]))


def partial_sums(log: Floats, errors: Floats, initial: Floats, episodes: Episodes, counts: Counts) -> Partial:
    """`log` [N]: log ρ_t; `errors` [N]: δ_t; `initial` [E]: V(s₀); `counts` [E]: how often each episode is held."""
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(counts.sum(), counts / counts.sum(), REPLICATES).astype(np.float64)  # [B, E]
    held = counts.astype(np.float64)
    longest = int(episodes.lengths.max(initial=0))
    marks = lengths(longest)
    total = held * initial / held.sum()  # [E] so far
    replicates = drawn @ initial / held.sum()  # [B]
    shares = [total]
    for first in range(0, longest, BLOCK):
        time = np.arange(first, min(first + BLOCK, longest))
        weight, error = _side_by_side(log, errors, episodes, time, counts > 0)  # [E, b] each
        added = held[:, None] * weight * error / (held @ weight)  # [E, b]
        with np.errstate(invalid="ignore", divide="ignore"):
            replicates += np.nan_to_num(drawn @ (weight * error) / (drawn @ weight)).sum(axis=1)
        sums = total[:, None] + np.cumsum(added, axis=1)
        shares += [sums[:, mark - first - 1] for mark in marks if first < mark <= first + len(time)]
        total = sums[:, -1]
    return Partial(np.stack(shares, axis=1), replicates)


def _side_by_side(
    log: Floats, errors: Floats, episodes: Episodes, time: Int[Integers, " b"], held: Booleans
) -> tuple[Floats, Floats]:
    """ρ_t, in units of the largest at its time, and γ^t δ_t: 0 where an episode has ended, which keeps its last ρ."""
    step = np.minimum(time[None], episodes.lengths[:, None] - 1)  # [E, b]; −1 in an episode without steps
    row = np.maximum(0, episodes.starts[:-1, None] + step)
    logs = np.where(step >= 0, log[np.minimum(row, len(log) - 1)], 0.0)
    going = time[None] < episodes.lengths[:, None]
    error = np.where(going, errors[np.minimum(row, len(log) - 1)] * episodes.gamma ** time[None], 0.0)
    peak = np.where(held[:, None], logs, -np.inf).max(axis=0, keepdims=True)
    return np.exp(np.where(held[:, None], logs - peak, -np.inf)), error


def blend(found: Partial, count: int) -> Blend:
    """`count`: episodes of the log."""
    sums = found.sums
    centred = found.shares - sums[None] / count
    covariance = centred.T @ centred * (count / max(1, count - 1))  # [J, J] of the sums
    low, high = np.percentile(found.replicates, INTERVAL)
    low, high = min(low, sums[-1]), max(high, sums[-1])  # `wdr` itself is in its interval
    bias = sums - np.clip(sums, low, high)
    x = smallest_on_simplex(covariance + np.outer(bias, bias))
    return Blend(float(x @ sums), x)


def smallest_on_simplex(matrix: Float[Floats, "J J"]) -> Float[Floats, " J"]:
    """argmin xᵀAx over x ≥ 0, Σx = 1, of a positive semidefinite A.

    With a penalty (Σx − 1)² instead of the constraint, the minimiser only shrinks: it is scaled back.
    """
    size = float(np.trace(matrix)) / len(matrix)
    if not np.isfinite(size):
        return np.full(len(matrix), np.nan)
    from scipy.optimize import nnls  # a fifth of the time to the first line of a run; few need it

    values, vectors = np.linalg.eigh(matrix / (size or 1.0))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    system = np.concatenate([root, np.ones((1, len(matrix)))])
    x, _ = nnls(system, np.append(np.zeros(len(matrix)), 1.0))
    return np.asarray(x / x.sum())


def estimate(problem: Problem, config: DoublyRobustConfig, run: Run, behaviour: Behaviour | None) -> Estimated:
    weights = make_weights(problem, behaviour)
    fitted = fit_q(problem, config, run)
    errors = temporal_differences(problem, fitted.on_logged(), fitted.on_next())  # [M, N]
    initial = fitted.on_initial()  # [M, E]
    episodes = weights.episodes
    own = zip(np.broadcast_to(weights.log, errors.shape), errors, initial, run.held(episodes.count), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate"
        blends = [blend(partial_sums(*each[:3], episodes, each[3]), int(each[3].sum())) for each in own]
    shown = float(np.mean([each.x[0] for each in blends]))
    trained, effective = (*weights.trained, fitted.trained), effective_sample(weights, per_decision=True)
    values = np.array([each.value for each in blends])
    extras = {"share_of_q": shown, "share_of_wdr": float(np.mean([each.x[-1] for each in blends]))}
    return Estimated(
        values, trained, weights.warnings, q=fitted, effective=effective, extras=extras, backups=fitted.backups
    )


MAGIC = Estimator(
    "magic",
    DoublyRobustConfig,
    estimate,
    "a blend of fitted q and weighted doubly robust, by the errors that each is likely to have",
    takes_features=True,
    presets=WDR.presets,
    family=WDR.family,
    needs=WDR.needs,
    spread=WDR.spread,
    prepare=prepare,
)
