"""FQE by classification: q is the mean of a histogram, and cross-entropy trains it.

    y = r + γ·E_{a'~π_e}[ q̄(s', a') ],     q(s, a) = Σ_i p_i(s, a)·z_i
    minimise  E_D[ −Σ_i m_i(y)·log p_i(s, a) ],     m_i(y) = Pr( N(y, σ²) falls into bin i ),   σ = 0.75 bins

The bins z span what the log's own returns span, and `margin` of that on either side, but no more than the rewards
allow. So q cannot leave them, whatever it bootstraps on; nor can the estimate, where a policy is better than
everything that was logged, and then that is said. Every histogram starts as that of the log's returns.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from pydantic import Field, NonNegativeFloat

from ropeval.data import Problem, Rows
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.estimators.fitted_q import Value
from ropeval.estimators.fqe import FAMILY, FQEConfig, bootstrapped, reward_unit, td_learner, train_q
from ropeval.estimators.world.log_returns import log_returns
from ropeval.learning.engine import Hyper, Learner, Run
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP

SPREAD = 0.75  # σ in bins: each target is felt by about six of them
PADDING = 3  # bins beyond the support on either side, so that a target at its edge loses nothing of its spread
NARROWEST = 1e-3  # of a support, in units of the rewards' size: where all returns are alike
NEAR_THE_EDGE = 0.02  # of the support


class FQEHLConfig(FQEConfig):
    bins: Annotated[int, Field(ge=2)] = 101
    margin: NonNegativeFloat = 0.25  # of the range of the log's returns, on either side


class Support(NamedTuple):
    """What the log's returns span, and where most of them lie."""

    low: float
    high: float
    mean: float
    std: float

    def over(self, scale: float) -> "Support":
        return Support(*(each / scale for each in self))


def support(problem: Problem, config: FQEHLConfig) -> Support:
    """Widened, and within what the rewards allow."""
    found = log_returns(problem.dataset, problem.gamma)
    returns = found.returns[found.known]
    low, high = float(returns.min()), float(returns.max())
    wider = config.margin * (high - low)
    least, most = problem.log.bounds
    low, high = max(low - wider, least), min(high + wider, most)
    narrowest = NARROWEST * reward_unit(problem, config)
    if high - low < narrowest:
        low, high = (low + high - narrowest) / 2, (low + high + narrowest) / 2
    return Support(low, high, float(returns.mean()), max(float(returns.std()), (high - low) / config.bins))


def centres(low: float, high: float, bins: int) -> Float[Array, " B"]:
    """Of `bins` bins from low to high, and of the padding beyond."""
    return low + (high - low) / (bins - 1) * jnp.arange(-PADDING, bins + PADDING)


def labels(target: Float[Array, " n"], low: float, high: float, bins: int) -> Float[Array, "n B"]:
    """The share of N(y, σ²) in every bin; its mean is y for all y in the support."""
    width = (high - low) / (bins - 1)
    middle = centres(low, high, bins)
    edges = jnp.append(middle - width / 2, middle[-1] + width / 2)
    below = jax.scipy.stats.norm.cdf((edges[None] - jnp.clip(target, low, high)[:, None]) / (SPREAD * width))
    shares = jnp.diff(below, axis=1)
    return shares / shares.sum(axis=1, keepdims=True)


def mean_value(q: MLP, x: Float[Array, "*batch X"], low: float, high: float, bins: int) -> Float[Array, "*batch"]:
    return jax.nn.softmax(q(x)) @ centres(low, high, bins)


@made_once
def value_function(low: float, high: float, bins: int) -> Value:
    return partial(mean_value, low=low, high=high, bins=bins)


@made_once
def make_learner(config: FQEHLConfig, dim: int, spanned: Support) -> Learner:
    low, high, mean, std = spanned
    value = value_function(low, high, config.bins)
    bias = -0.5 * ((centres(low, high, config.bins) - mean) / std) ** 2

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        target = labels(bootstrapped(value, q_bar, batch), low, high, config.bins)  # [batch, B]
        return -(target * jax.nn.log_softmax(q(batch.x))).sum(axis=1).mean()

    return td_learner(config, dim, value, loss, outputs=len(bias), bias=bias)


def estimate(problem: Problem, config: FQEHLConfig, run: Run) -> Estimated:
    scale = reward_unit(problem, config)
    spanned = support(problem, config).over(scale)
    low, high, *_ = spanned
    learner = make_learner(config, problem.transitions.dim, spanned)
    fitted = train_q(problem, config, run, learner, value_function(low, high, config.bins), scale)
    found = averaged(run, fitted.on_initial(), trained=(fitted.trained,), q=fitted, backups=fitted.backups)
    place = (float(np.nanmean(found.values)) / scale - low) / (high - low)
    notes: tuple[str, ...] = ()
    if not NEAR_THE_EDGE < place < 1 - NEAR_THE_EDGE:
        notes = ("the estimate lies at the edge of what the log's returns span, beyond which it cannot go",)
    return replace(found, warnings=notes, extras={"histogram": [low * scale, high * scale]})


FQE_HL = Estimator(
    "fqe-hl",
    FQEHLConfig,
    estimate,
    "fqe by cross-entropy on a histogram of what the log's returns span",
    takes_features=True,
    family=FAMILY,
    spread=("learning_rate",),
    by_group=True,
)
