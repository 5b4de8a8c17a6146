"""The native representation: normalised state and action, side by side."""

from ropeval.data.transitions import Problem
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.learning.engine import Run
from ropeval.settings import PartConfig


class IdentityConfig(PartConfig):
    """Nothing to choose."""


def fit(problem: Problem, config: IdentityConfig, run: Run) -> Encoded:
    return Encoded(problem.transitions)


IDENTITY = Encoder(IdentityConfig, fit, "the normalised state and action themselves")
