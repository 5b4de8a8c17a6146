"""Estimators: one file each, one line here. From a problem to one estimate per member."""

from ropeval.estimators.baseline import MEAN_RETURN, MEAN_REWARD
from ropeval.estimators.doubly_robust import DR, WDR
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE
from ropeval.estimators.fqe_variants import FQE_CLIP, FQE_DEEP, FQE_LN
from ropeval.estimators.importance import IS, PDIS, WIS, WPDIS
from ropeval.estimators.lspe import LSPE
from ropeval.estimators.model import MODEL

ESTIMATORS: dict[str, Estimator] = {
    "mean-reward": MEAN_REWARD,
    "mean-return": MEAN_RETURN,
    "fqe": FQE,
    "fqe-clip": FQE_CLIP,
    "fqe-deep": FQE_DEEP,
    "fqe-ln": FQE_LN,
    "lspe": LSPE,
    "is": IS,
    "wis": WIS,
    "pdis": PDIS,
    "wpdis": WPDIS,
    "dr": DR,
    "wdr": WDR,
    "model": MODEL,
}

__all__ = ["ESTIMATORS", "Estimated", "Estimator"]
