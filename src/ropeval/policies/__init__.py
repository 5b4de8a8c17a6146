"""Policies: what is evaluated. Raw observations in, actions out; the only question ever asked of them."""

from ropeval.policies.gaussian import GaussianMLP
from ropeval.policies.loaders import load_policy
from ropeval.policies.policy import CallablePolicy, Policy, Space, UniformPolicy

__all__ = ["CallablePolicy", "GaussianMLP", "Policy", "Space", "UniformPolicy", "load_policy"]
