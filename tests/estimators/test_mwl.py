"""Minimax weight learning: least squares, and the same fixed point as that of values."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.linear_features import Moments
from ropeval.estimators.lspe import LSPEConfig, fixed_point
from ropeval.estimators.mwl import MWLConfig, solve
from ropeval.estimators.occupancy_features import RandomFeatures, features_of
from ropeval.estimators.occupancy_flow import Flow, make_flow
from tests.problems import LinearQuadratic


def few_features(sigma: float = 0.3, episodes: int = 100) -> tuple[Flow, np.ndarray]:
    """The flow of seven features, and E[φ r]."""
    lq = LinearQuadratic()
    problem = make_problem(lq.log(episodes), lq.policy(sigma), 0.9)
    basis = RandomFeatures(np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32))
    flow = make_flow(problem.transitions, basis, 0.9, np.ones(episodes, np.int64))
    return flow, phi(flow).T @ (flow.share * problem.dataset.rewards)


def phi(flow: Flow) -> np.ndarray:
    """[N, d] of every row."""
    return features_of(flow.basis, np.asarray(flow.log.rows.x)).astype(np.float64)


def test_weights_and_values_have_one_fixed_point():
    flow, reward = few_features()
    nothing = np.zeros_like(flow.C)
    start = flow.b / 0.1
    theta = fixed_point(Moments(flow.C, flow.C - flow.A, nothing, reward, reward, 0.0, start), LSPEConfig())
    assert solve(flow, MWLConfig(ridge=1e-12)) @ reward / 0.1 == pytest.approx(start @ theta, rel=1e-3)


def test_no_other_weights_are_better():
    flow, _ = few_features()
    tau, rng = 0.1, np.random.default_rng(0)
    omega = solve(flow, MWLConfig(ridge=tau * flow.rows))

    def loss(w: np.ndarray) -> float:
        """The inner maximum, over functions of length one, is the length of what is left."""
        return float(((flow.b - flow.A.T @ w) ** 2).sum() + tau * w @ w)

    assert all(loss(omega) < loss(omega + 1e-3 * rng.standard_normal(len(omega))) for _ in range(20))
