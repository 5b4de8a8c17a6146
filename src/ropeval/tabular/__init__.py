"""The paper's theory on arrays, exact: the referee for everything learned from samples."""

from ropeval.tabular.aggregate import (
    AggregationError,
    Clustering,
    aggregate,
    aggregation_error,
    neighbourhoods,
    zero_groups,
)
from ropeval.tabular.estimated import from_gymnasium, from_log
from ropeval.tabular.gridworld import gridworld
from ropeval.tabular.kernel import StateActionKernel, krope
from ropeval.tabular.mdp import TabularMDP
from ropeval.tabular.metrics import METRICS, StateActionMetric, mico, psm, random_policy, rope
from ropeval.tabular.sampled import fqe_exact, sample_log, sampled_rope
from ropeval.tabular.solve import action_values, finite_value, occupancy, policy_value
from ropeval.tabular.study import Study, study

__all__ = [
    "METRICS",
    "AggregationError",
    "Clustering",
    "StateActionKernel",
    "StateActionMetric",
    "Study",
    "TabularMDP",
    "action_values",
    "aggregate",
    "aggregation_error",
    "finite_value",
    "fqe_exact",
    "from_gymnasium",
    "from_log",
    "gridworld",
    "krope",
    "mico",
    "neighbourhoods",
    "occupancy",
    "policy_value",
    "psm",
    "random_policy",
    "rope",
    "sample_log",
    "sampled_rope",
    "study",
    "zero_groups",
]
