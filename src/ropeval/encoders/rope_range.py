"""ROPE in the range of its own head. A departure from the paper, measured to matter.

LayerNorm and tanh bound ‖φ‖² by d, and so d̃ by d + βπ. The metric that ROPE asks for has the mean

    E[d] = E|r₁ − r₂| / (1 − γ)          (over pairs, if the next pairs are distributed like the pairs)

which at γ = 0.99 is a hundred times the typical difference of two rewards. Where that lies above the bound, all that
the loss can do is to push every feature to ±1. Here the short-term distance is scaled,

    d(x₁, x₂) = c·|r₁ − r₂| + γ·E[ d(x₁', x₂') ],      c = (1 − γ)·(d/2) / E|r₁ − r₂|,

so that E[d] = d/2, the middle of what ½(‖φ(x₁)‖² + ‖φ(x₂)‖²) can express. A metric times a constant groups pairs just
as the metric does.
"""

import numpy as np
from numpy.typing import NDArray

from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, Metric, SimilarityConfig, fit_metric, output_dim
from ropeval.learning.engine import Run


class RopeRangeConfig(SimilarityConfig):
    """Nothing beyond what all similarity metrics have."""


def mean_difference(values: NDArray[np.floating]) -> float:
    """E|v₁ − v₂| over independent pairs of values [n], by sorting: the i-th smallest is above i others."""
    ordered = np.sort(values.astype(np.float64))
    n = len(ordered)
    return float(2.0 * np.sum((2.0 * np.arange(n) - (n - 1)) * ordered) / n**2)


def reward_scale(rewards: NDArray[np.floating], gamma: float, dim: int) -> float:
    """c; 1 where all rewards are the same, and no scale brings them apart."""
    spread = mean_difference(rewards)
    return (1.0 - gamma) * (dim / 2.0) / spread if spread > 0.0 else 1.0


def fit(problem: Problem, config: RopeRangeConfig, run: Run) -> Encoded:
    raw = problem.transitions
    scale = reward_scale(problem.dataset.rewards, problem.gamma, output_dim(config.dim, raw.dim))
    return fit_metric(problem, Metric(raw.rows, scale), config, run, "rope-range")


ROPE_RANGE = Encoder(
    config=RopeRangeConfig,
    fit=fit,
    summary="rope with its metric scaled to the range that the network can express",
    presets={"paper": PAPER},
)
