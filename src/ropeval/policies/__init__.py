"""Policies: what is evaluated. Raw observations in, actions out; the only question ever asked of them."""

from typing import TYPE_CHECKING

from ropeval.lazy import import_when_used

if TYPE_CHECKING:
    from ropeval.policies.gaussian import GaussianMLP
    from ropeval.policies.greedy import GreedyMLP
    from ropeval.policies.loaders import load_policy
    from ropeval.policies.normalised import NormalisedPolicy, Statistics
    from ropeval.policies.onpolicy import CategoricalMLP, ClippedGaussianMLP
    from ropeval.policies.policy import CallablePolicy, Policy, Space, UniformPolicy
    from ropeval.policies.squashed import TanhMLP

__all__ = [
    "CallablePolicy",
    "CategoricalMLP",
    "ClippedGaussianMLP",
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

# A log, which knows what a policy must fit, is read without SciPy.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.policies.gaussian": ("GaussianMLP",),
        "ropeval.policies.greedy": ("GreedyMLP",),
        "ropeval.policies.loaders": ("load_policy",),
        "ropeval.policies.normalised": ("NormalisedPolicy", "Statistics"),
        "ropeval.policies.onpolicy": ("CategoricalMLP", "ClippedGaussianMLP"),
        "ropeval.policies.policy": ("CallablePolicy", "Policy", "Space", "UniformPolicy"),
        "ropeval.policies.squashed": ("TanhMLP",),
    },
)
