"""A method applied to a problem: the encoder first, if there is one, then the estimator on its features."""

from dataclasses import dataclass, replace

from ropeval.data import Problem, Transitions
from ropeval.encoders import ENCODERS
from ropeval.errors import unknown_name
from ropeval.estimators import ESTIMATORS, Estimated
from ropeval.evaluation.methods import Method
from ropeval.learning.engine import Run, Trained
from ropeval.runtime import release_compiled


@dataclass(frozen=True, eq=False)
class Fitted:
    problem: Problem  # as the estimator saw it
    estimated: Estimated
    trained: dict[str, Trained]  # by stage, the encoder's and the estimator's
    features: Transitions | None  # what the encoder made of the log
    remarks: tuple[str, ...]


def fit(problem: Problem, method: Method, run: Run) -> Fitted:
    """Every member's estimate, and how it came about."""
    _check_settings(method, run)
    release_compiled()
    trained: tuple[Trained, ...] = ()
    remarks: tuple[str, ...] = ()
    features = None
    if method.encoder is not None:
        encoded = ENCODERS[method.encoder](problem, method.configs[method.encoder], run)
        features, trained, remarks = encoded.transitions, encoded.trained, encoded.warnings
        problem = replace(problem, features=features)
    estimated = ESTIMATORS[method.estimator](problem, method.configs[method.estimator], run)
    by_stage = {one.stage: one for one in (*trained, *estimated.trained)}
    return Fitted(problem, estimated, by_stage, features, remarks + estimated.warnings)


def _check_settings(method: Method, run: Run) -> None:
    """Values of the members' own that no part asks for would change nothing, and nobody would know."""
    known = method.spread
    for name in {**run.settings, **run.grid}:
        if name not in known:
            raise unknown_name(f"setting that members of one run of {method.name} may differ in", name, known)
