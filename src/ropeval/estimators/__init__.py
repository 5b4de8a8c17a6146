"""Estimators: one file each, one line here. From a problem to one estimate per member."""

from ropeval.estimators.baseline import MEAN_RETURN, MEAN_REWARD
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE

ESTIMATORS: dict[str, Estimator] = {
    "mean-reward": MEAN_REWARD,
    "mean-return": MEAN_RETURN,
    "fqe": FQE,
}

__all__ = ["ESTIMATORS", "Estimated", "Estimator"]
