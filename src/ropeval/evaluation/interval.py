"""Confidence intervals from resampled logs.

Every replicate is an estimate from another log that could have been: as many episodes, drawn from the log with
replacement, and another seed where something is learned. Their spread is that of the estimate over logs and seeds.

percentile   the quantiles of the replicates
bca          the quantiles, moved for bias and skewness (Efron 1987, "Better bootstrap confidence intervals"):
             level α becomes Φ(z₀ + (z₀ + z_α)/(1 − a(z₀ + z_α))), where z₀ says how far the estimate lies from the
             median of the replicates. The acceleration a is a sixth of the skewness of the episodes' influences. A
             jackknife would train once per episode; instead the replicates are regressed on how many episodes of each
             of up to 50 groups they hold, and the coefficients are the influences of the groups. Groups of independent
             episodes keep Σu³ and Σu², and so a.
t            value ± t·s·√(1 + 1/B), where B replicates with standard deviation s are too few to see their quantiles.
             If replicates are normal around the estimate with the variance that the estimate has around the truth,
             and the value is their mean, this is exact for any B ≥ 2. It is what `percentile` and `bca` fall back to.

Bootstrapping n episodes makes the spread too small by √((n−1)/n), and normal quantiles are too small for few
episodes. All three are widened for both, as Hesterberg (2015, "What teachers should know about the bootstrap")
proposes: z_α becomes √(n/(n−1))·t_{n−1,α}, and the quantiles are read at Φ of that.

No end lies beyond what the logged rewards allow (`bounds.py`). Where the estimate itself did, the interval is these
bounds, of kind `bounds`: the method has said nothing that can be true.

What a method gets wrong on every log alike, no resampling shows: networks are biased the same way each time, features
lack what q depends on. So each side is √(side² + (z·u)²), z the normal quantile of the level and u = `UNSEEN` of the
log's own scale (`earned.py`): the one number here that was measured, on the suite's dev cases
(docs/results/coverage.md). A factor on the width, its forerunner, did nothing where all members agree on what is wrong.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from ropeval.arrays import Floats
from ropeval.data.bounds import Bounds
from ropeval.evaluation.options import DEFAULT_LEVEL, Kind
from ropeval.evaluation.result import Interval
from ropeval.learning.resample import Counts

Replicates = Float[Floats, " B"]
TAIL = 2.5  # replicates that each tail must hold for a quantile to be seen: 100 at a level of 0.95
UNSEEN = 0.0125  # of the log's scale: standard deviation of what is wrong on every log alike
GROUPS = 50  # of episodes, whose influences make the acceleration
PER_GROUP = 8  # replicates that an influence needs


def make_interval(
    value: float | None,
    replicates: Replicates,
    episodes: int,
    level: float = DEFAULT_LEVEL,
    kind: Kind = "percentile",
    counts: Callable[[], Counts] | None = None,
    unseen: float = 0.0,
) -> Interval | None:
    """None where nothing can be said. `counts` gives [B, E], how often each replicate's log holds each episode;
    `unseen` is the standard deviation of what they have in common, in rewards."""
    finite = np.isfinite(replicates)
    good, n = replicates[finite], episodes
    if value is None or len(good) < 2 or n < 2:
        return None
    tail = (1.0 - level) / 2.0
    made: str = kind
    if len(good) * tail < TAIL:
        made, half = "t", small_sample_factor(len(good), n, level) * float(good.std(ddof=1))
        low, high = value - half, value + half
    elif kind == "bca" and counts is not None:
        z0, a = bias_correction(value, good), acceleration(good, counts()[finite])
        low, high = (float(np.quantile(good, _adjusted(p, n, z0, a))) for p in (tail, 1.0 - tail))
    else:
        made = "percentile"
        low, high = (float(np.quantile(good, _adjusted(p, n))) for p in (tail, 1.0 - tail))
    common = normal_quantile(1.0 - tail) * unseen
    low, high = low - _more(value - low, common), high + _more(high - value, common)
    return Interval(low, high, level, made, len(good), n, unseen)


def _more(side: float, common: float) -> float:
    """How much longer a side becomes by what it cannot see."""
    return float(np.hypot(side, common)) - abs(side)


def normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(level))


def within(interval: Interval, bounds: Bounds, outside: bool) -> Interval:
    """The same with both ends inside of what rewards allow. Where the estimate itself was `outside`, these bounds are
    all that can be said."""
    if outside:
        return replace(interval, low=bounds.low, high=bounds.high, kind="bounds")
    low, high = bounds.cut(np.array([interval.low, interval.high]))
    return replace(interval, low=float(low), high=float(high))


def small_sample_factor(replicates: int, episodes: int, level: float) -> float:
    """Half the width of the t interval, in standard deviations of the replicates."""
    from scipy.special import stdtrit  # scipy.stats has the same under nicer names, and takes a second to import

    freedom = min(replicates, episodes) - 1
    return float(stdtrit(freedom, 0.5 + level / 2.0) * np.sqrt((1.0 + 1.0 / replicates) * episodes / (episodes - 1)))


def _adjusted(level: float, episodes: int, z0: float = 0.0, a: float = 0.0) -> float:
    """Which quantile of the replicates stands for this one: expanded for few episodes, moved by z₀ and a."""
    from scipy.special import ndtr, stdtrit

    z = z0 + np.sqrt(episodes / (episodes - 1)) * stdtrit(episodes - 1, level)
    bend = 1.0 - a * z
    return float(ndtr(z0 + z / bend)) if bend > 0.0 else float(level > 0.5)  # a skewness beyond all bounds


def bias_correction(value: float, replicates: Replicates) -> float:
    """z₀: where the estimate lies among its replicates, as a normal quantile; kept away from the ends."""
    below = (replicates < value).mean() + 0.5 * (replicates == value).mean()
    edge = 0.5 / len(replicates)
    return normal_quantile(float(np.clip(below, edge, 1.0 - edge)))


def acceleration(replicates: Replicates, counts: Int[Counts, "B E"]) -> float:
    """a = Σu³ / (6 (Σu²)^{3/2}) of the influences u of groups of episodes, by least squares on the counts."""
    groups = min(counts.shape[1], GROUPS, len(replicates) // PER_GROUP)
    if groups < 3:
        return 0.0
    group = np.random.default_rng(0).permutation(counts.shape[1]) % groups  # [E] neighbours in a log are often alike
    held = np.stack([counts[:, group == g].sum(axis=1) for g in range(groups)], axis=1).astype(np.float64)  # [B, G]
    # The counts add up to E: the coefficients are determined up to a constant, and chosen to have mean 0.
    centred = held - held.mean(axis=0, keepdims=True)
    slope = np.linalg.lstsq(centred, replicates - replicates.mean(), rcond=None)[0]
    size = np.bincount(group)
    influence = (slope - (slope * size).sum() / size.sum()) * size  # of a group: the sum over its episodes
    spread = float((influence**2).sum()) ** 1.5
    return float((influence**3).sum() / (6.0 * spread)) if spread > 0.0 else 0.0
