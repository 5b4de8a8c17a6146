"""DualDICE: what is solved is the saddle point of the published objective."""

import numpy as np

from ropeval.estimators.dualdice import DualDICEConfig, solve
from tests.estimators.test_mwl import few_features, phi


def test_neither_side_can_do_better():
    """With ω given the best β is known; against that β no other ω gains, and against ω no other β."""
    flow, _ = few_features()
    features = phi(flow)
    tau, rng = 1e-3, np.random.default_rng(0)
    omega = solve(flow, DualDICEConfig(ridge=tau * flow.rows))
    beta = (flow.b - flow.A.T @ omega) / tau

    def objective(beta: np.ndarray, omega: np.ndarray) -> float:
        zeta = features @ omega
        quadratic = 0.5 * flow.share @ zeta**2
        return float(omega @ flow.A @ beta - quadratic - flow.b @ beta + 0.5 * tau * beta @ beta)

    value = objective(beta, omega)
    for _ in range(20):
        away = 1e-2 * rng.standard_normal(len(omega))
        assert objective(beta, omega + away) < value + 1e-9
        assert objective(beta + away, omega) > value - 1e-9
