"""Policies: what is evaluated. Raw observations in, actions out; the only question ever asked of them."""

from typing import TYPE_CHECKING

from ropeval.lazy import import_when_used

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy
    from ropeval.policies.continuous import ClippedGaussianMLP, GaussianMLP, TanhMLP
    from ropeval.policies.discrete import CategoricalMLP, GreedyMLP
    from ropeval.policies.function import CallablePolicy
    from ropeval.policies.loaders import load_policy
    from ropeval.policies.normalised import NormalisedPolicy, Statistics
    from ropeval.policies.policy import Policy, Space
    from ropeval.policies.uniform import UniformPolicy

__all__ = [
    "CallablePolicy",
    "CategoricalMLP",
    "ClippedGaussianMLP",
    "CompiledPolicy",
    "GaussianMLP",
    "GreedyMLP",
    "NormalisedPolicy",
    "Policy",
    "Space",
    "Statistics",
    "TanhMLP",
    "UniformPolicy",
    "load_policy",
]

# A log, which knows what a policy must fit, is read without SciPy; and policies are read without JAX.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.policies.compiled": ("CompiledPolicy",),
        "ropeval.policies.continuous": ("ClippedGaussianMLP", "GaussianMLP", "TanhMLP"),
        "ropeval.policies.discrete": ("CategoricalMLP", "GreedyMLP"),
        "ropeval.policies.function": ("CallablePolicy",),
        "ropeval.policies.loaders": ("load_policy",),
        "ropeval.policies.normalised": ("NormalisedPolicy", "Statistics"),
        "ropeval.policies.policy": ("Policy", "Space"),
        "ropeval.policies.uniform": ("UniformPolicy",),
    },
)
