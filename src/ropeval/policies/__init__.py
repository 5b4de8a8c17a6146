"""Policies: what is evaluated. Raw observations in, actions out; the only question ever asked of them."""

import importlib
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "gaussian": ("GaussianMLP",),
    "greedy": ("GreedyMLP",),
    "loaders": ("load_policy",),
    "normalised": ("NormalisedPolicy", "Statistics"),
    "onpolicy": ("CategoricalMLP", "ClippedGaussianMLP"),
    "policy": ("CallablePolicy", "Policy", "Space", "UniformPolicy"),
    "squashed": ("TanhMLP",),
}


def __getattr__(name: str) -> Any:
    """Import a policy when it is first used: a log, which knows what a policy must fit, is read without SciPy."""
    for home, names in _HOMES.items():
        if name in names:
            module = importlib.import_module(f"ropeval.policies.{home}")
            return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'ropeval.policies' has no attribute {name!r}")
