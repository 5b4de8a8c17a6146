"""BestDICE: a ratio that is positive, has a mean of one, and solves its convex problem."""

import numpy as np
import pytest

from ropeval.estimators.bestdice import BestDICEConfig, solve
from ropeval.estimators.dualdice import DualDICEConfig
from ropeval.estimators.dualdice import solve as solve_dualdice
from tests.estimators.test_mwl import few_features, phi


def test_cut_off_at_zero_where_dualdice_goes_below():
    flow, _ = few_features(sigma=0.1)
    kappa = solve(flow, BestDICEConfig())
    zeta = np.maximum(phi(flow) @ kappa, 0.0)
    assert (phi(flow) @ solve_dualdice(flow, DualDICEConfig()) < -0.05).any()
    assert (zeta == 0.0).any()
    # Nothing ends here, so that the flow of the constant asks for a mean of one.
    assert flow.share @ zeta == pytest.approx(1.0, abs=1e-5)


def test_the_gradient_vanishes():
    """E_D[ζĥ] = b, up to the penalty of all directions but the constant one."""
    flow, _ = few_features(sigma=0.1)
    config = BestDICEConfig(ridge=1e-6)
    zeta = np.maximum(phi(flow) @ solve(flow, config), 0.0)
    h = phi(flow) @ np.linalg.solve(flow.C, flow.A)  # [N, d] E[φ − γφ' | x]
    np.testing.assert_allclose(h.T @ (flow.share * zeta), flow.b, atol=1e-4)


def test_it_is_dualdice_where_nothing_is_cut_off():
    """The policy is the log's own: the ratio is nearly even."""
    flow, reward = few_features(sigma=0.6)
    kappa = solve(flow, BestDICEConfig(ridge=1e-9))
    omega = solve_dualdice(flow, DualDICEConfig(ridge=1e-9))
    assert (phi(flow) @ omega > 0.0).all()
    assert kappa @ reward == pytest.approx(omega @ reward, rel=1e-3)
