"""Off-policy evaluation: what would this policy earn, judged only from logged data?

>>> import ropeval
>>> log = ropeval.load_dataset("log.npz")
>>> policy = ropeval.load_policy("policy.npz")
>>> ropeval.evaluate(log, policy, method="rope+fqe", gamma=0.99)
"""

from ropeval.data import Dataset, load_dataset
from ropeval.errors import UserError
from ropeval.evaluation.evaluate import evaluate
from ropeval.evaluation.methods import available_methods
from ropeval.evaluation.result import Estimate
from ropeval.policies import CallablePolicy, GaussianMLP, Policy, UniformPolicy, load_policy
from ropeval.version import __version__

__all__ = [
    "CallablePolicy",
    "Dataset",
    "Estimate",
    "GaussianMLP",
    "Policy",
    "UniformPolicy",
    "UserError",
    "__version__",
    "available_methods",
    "evaluate",
    "load_dataset",
    "load_policy",
]
