"""ROPE: features whose distances are the evaluation policy's own behavioural distance.

    d(x₁, x₂) = |r₁ − r₂| + γ·E[ d(x₁', x₂') ],   a₁', a₂' ~ π_e independently

How such a distance is learned stands in `similarity.py`: the signal is the reward, the next actions are those that
were drawn from the evaluation policy, and nothing else is ROPE's own.
"""

from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, SPREAD, Metric, SimilarityConfig, fit_metric
from ropeval.learning.engine import Run


class RopeConfig(SimilarityConfig):
    """Nothing beyond what all similarity metrics have."""


def fit(problem: Problem, config: RopeConfig, run: Run) -> Encoded:
    return fit_metric(problem, Metric(problem.transitions.rows), config, run, "rope")


ROPE = Encoder(
    config=RopeConfig,
    fit=fit,
    summary="state-action similarity under the evaluation policy (the paper's representation)",
    presets={"paper": PAPER},
    spread=SPREAD,
)
