"""Minimax weight learning: the ratio whose flow no function of a kernel's unit ball can tell from balanced.

    minimise over w   max_{‖f‖ ≤ 1} ( E_D[ w(x)·( γ f(x') − f(x) ) ] + (1−γ)·E[ f(s₀, a₀) ] )²  +  τ·‖w‖²

For w = φ·ω and f = φ·α, with ‖f‖ = ‖α‖, the inner maximum is known, and the rest is least squares:

    minimise over ω   ‖ b − Aᵀω ‖² + τ·‖ω‖²,      ρ̂(π_e) = E_D[ w(x) r ] / (1−γ)

(C, A, b and φ: `occupancy.py`). As τ → 0 the estimate becomes that of `lspe` on the same features, where both exist:
the weights and the values of one linear class have the same fixed point, seen from its two sides.
"""

import numpy as np
from pydantic import PositiveFloat

from ropeval.arrays import Floats
from ropeval.estimators.occupancy import OccupancyConfig, entry
from ropeval.estimators.occupancy_flow import Flow


class MWLConfig(OccupancyConfig):
    ridge: PositiveFloat = 1e-7


def solve(flow: Flow, config: MWLConfig) -> Floats:
    """ω."""
    ridge = config.ridge / flow.rows * np.eye(len(flow.b))
    return np.asarray(np.linalg.solve(flow.A @ flow.A.T + ridge, flow.A @ flow.b))


MWL = entry("mwl", MWLConfig, solve, "minimax weight learning: an occupancy ratio that balances a kernel's functions")
