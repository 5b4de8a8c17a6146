"""Estimators: one file each, one line here. From a problem to one estimate per member."""

from ropeval.estimators.baseline import MEAN_RETURN, MEAN_REWARD
from ropeval.estimators.bestdice import BESTDICE
from ropeval.estimators.doubly_robust import DR, WDR
from ropeval.estimators.dualdice import DUALDICE
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fqe import FQE, FQE_CLIP, FQE_DEEP, FQE_LN
from ropeval.estimators.fqe_hl import FQE_HL
from ropeval.estimators.fqe_horizon import FQE_HORIZON
from ropeval.estimators.fqe_trees import FQE_TREES
from ropeval.estimators.importance import IS, PDIS, WIS, WPDIS
from ropeval.estimators.lspe import LSPE
from ropeval.estimators.magic import MAGIC
from ropeval.estimators.mwl import MWL
from ropeval.estimators.off_policy_returns import Q_LAMBDA, RETRACE, TREE_BACKUP
from ropeval.estimators.sope import SOPE
from ropeval.estimators.world import WORLD

ESTIMATORS: dict[str, Estimator] = {
    entry.name: entry
    for entry in (
        *(MEAN_REWARD, MEAN_RETURN),
        *(FQE, FQE_CLIP, FQE_DEEP, FQE_LN, FQE_TREES),
        *(FQE_HL, FQE_HORIZON),
        *(RETRACE, TREE_BACKUP, Q_LAMBDA),
        LSPE,
        *(IS, WIS, PDIS, WPDIS, SOPE),
        *(DR, WDR, MAGIC),
        *(DUALDICE, BESTDICE, MWL),
        WORLD,
    )
}

__all__ = ["ESTIMATORS", "Estimated", "Estimator"]
