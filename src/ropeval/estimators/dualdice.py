"""DualDICE: the occupancy ratio as the Bellman residual of a function ν, which a convex problem finds.

    minimise over ν   ½·E_D[ ( (ν − B ν)(x) )² ] − (1−γ)·E[ ν(s₀, a₀) ],      ζ = ν − B ν,   (B ν)(x) = γ·E[ ν(x') ]

The expectation inside the square is why the published form is a saddle point with a second network, for ζ:

    min over ν max over ζ   E_D[ ζ(x)·( ν(x) − γ ν(x') ) − ½ ζ(x)² ] − (1−γ)·E[ ν(s₀, a₀) ]  +  τ/2·‖ν‖²

With ν = φ·β and ζ = φ·ω both sides are quadratic, and the saddle point solves

    ( A Aᵀ + τ C ) ω = A b,      ρ̂(π_e) = E_D[ ζ(x) r ] / (1−γ)

(C, A, b and φ: `occupancy.py`). So it is `mwl` with another penalty: E_D[ζ²], how far the ratio is from even.
Nothing keeps ζ positive, or its mean at one; both are looked at (`bestdice` sees to them).
"""

import numpy as np
from pydantic import PositiveFloat

from ropeval.arrays import Floats
from ropeval.estimators.occupancy import OccupancyConfig, entry
from ropeval.estimators.occupancy_flow import Flow


class DualDICEConfig(OccupancyConfig):
    ridge: PositiveFloat = 1e-4


def solve(flow: Flow, config: DualDICEConfig) -> Floats:
    """ω. A little of the unit matrix decides where no row has the feature."""
    ridge = config.ridge / flow.rows * (flow.C + 1e-6 * np.eye(len(flow.b)))
    return np.asarray(np.linalg.solve(flow.A @ flow.A.T + ridge, flow.A @ flow.b))


DUALDICE = entry("dualdice", DualDICEConfig, solve, "occupancy ratio as the Bellman residual of a fitted function")
