"""Policies: what is evaluated. Raw observations in, actions out; the only question ever asked of them."""

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
