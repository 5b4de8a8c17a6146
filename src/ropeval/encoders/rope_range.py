"""ROPE in the range of its own head. A departure from the paper, measured to matter.

LayerNorm and tanh bound ‖φ‖² by d, and so d̃ by d + βπ. The metric that ROPE asks for has the mean

    E[d] = E|r₁ − r₂| / (1 − γ)          (over pairs, if the next pairs are distributed like the pairs)

which at γ = 0.99 is a hundred times the typical difference of two rewards. Where that lies above the bound, all that
the loss can do is to push every feature to ±1. Here the short-term distance is scaled,

    d(x₁, x₂) = c·|r₁ − r₂| + γ·E[ d(x₁', x₂') ],      c = (1 − γ)·(d/2) / E|r₁ − r₂|,

so that E[d] = d/2, the middle of what ½(‖φ(x₁)‖² + ‖φ(x₂)‖²) can express. A metric times a constant groups pairs just
as the metric does. The rivals of ROPE have the same head and the same need: `match_range` does it for all of them.
"""

from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.learning.engine import Run


class RopeRangeConfig(SimilarityConfig):
    match_range: bool = True


def fit(problem: Problem, config: RopeRangeConfig, run: Run) -> Encoded:
    return fit_metric(problem, Metric(problem.transitions.rows), config, run, "rope-range")


ROPE_RANGE = Encoder(
    config=RopeRangeConfig,
    fit=fit,
    summary="rope with its metric scaled to the range that the network can express",
    presets={"paper": PAPER},
    spread=SPREAD,
)
