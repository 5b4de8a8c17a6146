"""BestDICE: the regularised member of the DICE family that its authors found to behave best.

The Lagrangian of all of them, with their switches, is

    max over ζ min over ν, λ   (1−γ)·E[ ν(s₀, a₀) ] + λ + E_D[ ζ(x)·( η·r + γ ν(x') − ν(x) − λ ) ] − α·E_D[ ½ ζ(x)² ]

and the choice is: regularise the ratio (α = 1) and not ν, ask for a mean of one (λ) and for ζ ≥ 0, and read the
estimate off the ratio. For ν = −φ·β the best ratio is known: with ĥ(x) = E[ φ(x) − γφ(x') | x ] ≈ AᵀC⁺φ(x),

    ζ(x) = max( 0, ĥ(x)·β ),

and what is left is smooth and convex in β, solved by Newton's method:

    minimise over β   E_D[ ½·max( 0, ĥ(x)·β )² ] − b·β  +  τ/2·‖β‖²,      ρ̂(π_e) = E_D[ ζ(x) r ] / (1−γ)

(C, A, b and φ: `occupancy.py`). A constant is among the functions φ·β, and is not penalised. That is λ: the flow of the
constant balances where the mean of ζ is one, counting what has ended as resting where it ended. The reward (η) would
only move ν by q, and leave ζ alone, where q is linear in φ; where it is not, it would favour ratios that earn much. So
it is left out (η = 0; the authors' best runs have it in).
"""

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from ropeval.arrays import Floats
from ropeval.estimators.occupancy import OccupancyConfig, entry
from ropeval.estimators.occupancy_flow import Flow

CONVERGED = 1e-9  # share of the objective that a step still gains
SMALLEST_STEP = 1e-4


class BestDICEConfig(OccupancyConfig):
    ridge: PositiveFloat = 1e-3
    sweeps: PositiveInt = 50  # of Newton's method, at most; a handful is usual


def solve(flow: Flow, config: BestDICEConfig) -> Floats:
    """κ = C⁺Aβ, with ζ = max(0, φ·κ)."""
    size, constant = len(flow.b), flow.basis.constant
    penalty = np.eye(size) - (1.0 - 1e-9) * np.outer(constant, constant)
    penalty *= config.ridge / flow.rows
    to_kappa = np.linalg.solve(flow.C + 1e-3 * penalty + 1e-12 * np.eye(size), flow.A)  # [d, d]

    def objective(beta: Floats, uncut: Floats) -> float:
        zeta = np.maximum(uncut, 0.0)  # [n]
        return float(0.5 * flow.share @ zeta**2 - flow.b @ beta + 0.5 * beta @ penalty @ beta)

    beta: Floats = np.asarray(np.linalg.solve(to_kappa.T @ flow.C @ to_kappa + penalty, flow.b), np.float64)
    uncut = flow.values(to_kappa @ beta)  # [n] ĥ·β
    value = objective(beta, uncut)  # the least there is, if nothing is cut off
    second, counted = flow.C, np.ones(len(uncut), bool)  # [d, d] of the rows that are not cut off, and which those are
    for _ in range(config.sweeps):
        active = uncut > 0.0
        second = second + flow.second(flow.share * (active.astype(np.float64) - counted))  # a few rows change sides
        counted = active
        curvature = to_kappa.T @ second @ to_kappa
        gradient = curvature @ beta - flow.b + penalty @ beta  # where ζ is not cut off it is linear in β
        direction, step = np.linalg.solve(curvature + penalty, gradient), 1.0
        along = flow.values(to_kappa @ direction)  # so that no step of another length goes over the features
        after = objective(beta - direction, uncut - along)
        while after > value - 1e-4 * step * (gradient @ direction) and step > SMALLEST_STEP:
            step /= 2.0
            after = objective(beta - step * direction, uncut - step * along)
        gain = value - after
        if gain > 0.0:
            beta, value, uncut = beta - step * direction, after, uncut - step * along
        if gain <= CONVERGED * abs(value):
            break
    return np.asarray(to_kappa @ beta)


BESTDICE = entry(
    "bestdice", BestDICEConfig, solve, "positive occupancy ratio, nearest to even, with a mean of one", positive=True
)
