"""What a verdict has to know about a method, by its name."""

from ropeval.estimators import ESTIMATORS
from ropeval.estimators.estimator import Estimator
from ropeval.estimators.fqe import FAMILY


def is_blind(method: str) -> bool:
    """Whether it ignores the policy."""
    found = _estimator(method)
    return found is not None and not found.sees_policy


def is_fitted_q(method: str) -> bool:
    """Whether it learned q by bootstrapping, with networks."""
    found = _estimator(method)
    return found is not None and found.family == FAMILY


def _estimator(method: str) -> Estimator | None:
    return ESTIMATORS.get(method.rpartition("+")[2])
