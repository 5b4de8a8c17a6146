"""Off-policy evaluation: what would this policy earn, judged only from logged data?

>>> import ropeval
>>> log = ropeval.load_dataset("log.npz")
>>> policy = ropeval.load_policy("policy.npz")
>>> ropeval.evaluate(log, policy, method="rope+fqe", gamma=0.99)
"""

from typing import TYPE_CHECKING

from ropeval.errors import UserError
from ropeval.lazy import import_when_used
from ropeval.version import __version__

if TYPE_CHECKING:
    from ropeval.data import Dataset, load_dataset
    from ropeval.evaluation.evaluate import evaluate
    from ropeval.evaluation.methods import available_methods
    from ropeval.evaluation.result import Estimate
    from ropeval.policies import CallablePolicy, GaussianMLP, Policy, UniformPolicy, load_policy

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

# Collecting processes and the command line's help need no JAX.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.data": ("Dataset", "load_dataset"),
        "ropeval.evaluation.evaluate": ("evaluate",),
        "ropeval.evaluation.methods": ("available_methods",),
        "ropeval.evaluation.result": ("Estimate",),
        "ropeval.policies": ("CallablePolicy", "GaussianMLP", "Policy", "UniformPolicy", "load_policy"),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
