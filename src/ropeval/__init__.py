"""Off-policy evaluation: what would this policy earn, judged only from logged data?

>>> import ropeval
>>> log = ropeval.load_dataset("log.npz")
>>> policy = ropeval.load_policy("policy.npz")
>>> ropeval.evaluate(log, policy, method="rope+fqe", gamma=0.99)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ropeval.errors import UserError
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

_HOMES = {
    "ropeval.data": ("Dataset", "load_dataset"),
    "ropeval.evaluation.evaluate": ("evaluate",),
    "ropeval.evaluation.methods": ("available_methods",),
    "ropeval.evaluation.result": ("Estimate",),
    "ropeval.policies": ("CallablePolicy", "GaussianMLP", "Policy", "UniformPolicy", "load_policy"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: collecting processes and the command line's help need no JAX."""
    for home, names in _HOMES.items():
        if name in names:
            return globals().setdefault(name, getattr(importlib.import_module(home), name))
    raise AttributeError(f"module 'ropeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
