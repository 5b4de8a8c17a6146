"""Estimators: one file each, one line here. From a problem to one estimate per member."""

from ropeval.estimators.baseline import MEAN_RETURN, MEAN_REWARD
from ropeval.estimators.bestdice import BESTDICE
from ropeval.estimators.doubly_robust import DR, WDR
from ropeval.estimators.dualdice import DUALDICE
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE, FQE_CLIP, FQE_DEEP, FQE_LN
from ropeval.estimators.importance import IS, PDIS, WIS, WPDIS
from ropeval.estimators.lspe import LSPE
from ropeval.estimators.mwl import MWL
from ropeval.estimators.world import WORLD

ESTIMATORS: dict[str, Estimator] = {
    entry.name: entry
    for entry in (
        *(MEAN_REWARD, MEAN_RETURN),
        *(FQE, FQE_CLIP, FQE_DEEP, FQE_LN),
        LSPE,
        *(IS, WIS, PDIS, WPDIS),
        *(DR, WDR),
        *(DUALDICE, BESTDICE, MWL),
        WORLD,
    )
}

__all__ = ["ESTIMATORS", "Estimated", "Estimator"]
