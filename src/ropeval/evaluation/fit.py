"""A method applied to a problem: the encoder first, if there is one, then the estimator on its features."""

from dataclasses import dataclass, replace

from ropeval.data import Problem, Transitions
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS, Estimated
from ropeval.evaluation.methods import Method
from ropeval.learning.engine import Run, Trained


@dataclass(frozen=True, eq=False)
class Fitted:
    problem: Problem  # as the estimator saw it
    estimated: Estimated
    trained: dict[str, Trained]  # by stage, the encoder's and the estimator's
    features: Transitions | None  # what the encoder made of the log
    remarks: tuple[str, ...]


def fit(problem: Problem, method: Method, run: Run) -> Fitted:
    """Every member's estimate, and how it came about."""
    trained: dict[str, Trained] = {}
    remarks: tuple[str, ...] = ()
    features = None
    if method.encoder is not None:
        encoded = ENCODERS[method.encoder].fit(problem, method.configs[method.encoder], run)
        features, trained, remarks = encoded.transitions, encoded.trained, encoded.warnings
        problem = replace(problem, transitions=features)
    estimated = ESTIMATORS[method.estimator].estimate(problem, method.configs[method.estimator], run)
    return Fitted(problem, estimated, trained | estimated.trained, features, remarks + estimated.warnings)
