"""Off-policy evaluation: what would this policy earn, judged only from logged data?

>>> rows = [{"obs": [t / 100], "action": t % 2, "pscore": 0.5, "reward": float(t % 2)} for t in range(100)]
>>> log = ropeval.load_dataset(rows, {"terminations": "always"})
>>> def ones(observations):
...     return np.ones(len(observations), int)
>>> found = ropeval.compare(log, {"ones": ones, "dice": "uniform"}, ["mean-return", "wis"], gamma=0)
>>> found.rankings[-1].policies
['ones', 'dice']
"""

from typing import TYPE_CHECKING

from ropeval.errors import UserError
from ropeval.lazy import import_when_used
from ropeval.version import __version__

if TYPE_CHECKING:
    from ropeval.data import Dataset, load_dataset
    from ropeval.evaluation.compare import Comparison, compare
    from ropeval.evaluation.evaluate import evaluate
    from ropeval.evaluation.methods import available_methods
    from ropeval.evaluation.result import Estimate
    from ropeval.policies import CallablePolicy, GaussianMLP, Policy, UniformPolicy, load_policy

__all__ = [
    "CallablePolicy",
    "Comparison",
    "Dataset",
    "Estimate",
    "GaussianMLP",
    "Policy",
    "UniformPolicy",
    "UserError",
    "__version__",
    "available_methods",
    "compare",
    "evaluate",
    "load_dataset",
    "load_policy",
]

# Collecting processes and the command line's help need no JAX.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.data": ("Dataset", "load_dataset"),
        "ropeval.evaluation.compare": ("Comparison", "compare"),
        "ropeval.evaluation.evaluate": ("evaluate",),
        "ropeval.evaluation.methods": ("available_methods",),
        "ropeval.evaluation.result": ("Estimate",),
        "ropeval.policies": ("CallablePolicy", "GaussianMLP", "Policy", "UniformPolicy", "load_policy"),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
