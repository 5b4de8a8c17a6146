"""Least-squares policy evaluation: q linear in the features, by iterated regression, in double precision.

    θ ← (ΦᵀΦ)⁺ Φᵀ ( r + Γ Φ' θ ),      ρ̂(π_e) = E_{s₀, a₀~π_e}[ φ(s₀, a₀)·θ ]

Φ holds the features of the logged pairs, Φ' their mean over π_e's actions in the next states, Γ the discounts. Only
the d×d moments of the data are needed, and one pass collects them. In coordinates z = φ·U that make ΦᵀΦ/N the
identity (U from its eigenvectors, directions that the log hardly shows left out: the pseudo-inverse), the iteration is

    θ ← b + W θ,      W = E[ z γ z'ᵀ ],   b = E[ z r ],

which converges for every reward if, and only if, the spectral radius of W is below 1. On off-policy data nothing
makes it so; then there is no estimate, and the radius is named.
"""

from dataclasses import dataclass

import numpy as np
from jax import Array
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Problem, Transitions
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.learning.engine import Run, Trained
from ropeval.settings import PartConfig

Floats = NDArray[np.float64]
BLOCK = 65_536  # rows brought to double precision at a time
CURVE_POINTS = 50
ILL_CONDITIONED = 1e8  # of the kept directions: features in single precision carry no more


class LSPEConfig(PartConfig):
    sweeps: PositiveInt = 20_000  # at most; each costs d² operations
    tolerance: PositiveFloat = 1e-10  # stop when q's rms change is below this share of its rms
    intercept: bool = True  # append a constant feature
    cutoff: NonNegativeFloat = 1e-10  # eigenvalues of ΦᵀΦ (columns of unit rms) below this share of the largest are 0


PAPER = {"sweeps": 1_000, "intercept": False}


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over the logged steps, and over the initial pairs."""

    features: Floats  # E[φφᵀ]      [d, d]
    following: Floats  # E[φ γφ'ᵀ]   [d, d]
    next_features: Floats  # E[γφ' γφ'ᵀ] [d, d]
    reward: Floats  # E[φ r]       [d]
    next_reward: Floats  # E[γφ' r]     [d]
    squared_reward: float  # E[r²]
    initial: Floats  # E[φ(s₀, a₀)] [d]


@dataclass(frozen=True, eq=False)
class Solution:
    """One member's answer, and what speaks for and against it."""

    theta: Floats  # [d]; the last entry is the intercept's, where there is one
    estimate: float  # nan where the iteration diverges
    radius: float  # spectral radius of W
    rank: int  # directions kept
    condition: float  # largest over smallest kept eigenvalue of ΦᵀΦ
    residual: float  # rms of r + γ q(x') − q(x) over the log
    converged: bool
    sweeps: NDArray[np.int64]  # [C]
    estimates: Floats  # [C] after these sweeps


def moments(transitions: Transitions, member: int, intercept: bool, gamma: float | None = None) -> Moments:
    """One pass over the log, in blocks. `gamma`, if given, stands for its own rounding to single precision."""
    rows, size = transitions.rows, transitions.size
    width = transitions.dim + intercept
    features, following, next_features = (np.zeros((width, width)) for _ in range(3))
    reward, next_reward, squared = np.zeros(width), np.zeros(width), 0.0
    for start in range(0, size, BLOCK):
        part = slice(start, start + BLOCK)
        x, next_x = transitions.block(part, member)
        phi = _lifted(x, intercept)  # [n, d]
        next_phi = _lifted(next_x.mean(axis=1, dtype=np.float64), intercept)
        discount = np.asarray(rows.discount[part], np.float64)
        if gamma is not None:
            discount[discount == np.float32(gamma)] = gamma
        next_phi *= discount[:, None]
        r = np.asarray(rows.reward[part], np.float64)
        features += phi.T @ phi
        following += phi.T @ next_phi
        next_features += next_phi.T @ next_phi
        reward += phi.T @ r
        next_reward += next_phi.T @ r
        squared += float(r @ r)
    initial = _lifted(transitions.initial_block(slice(None), member).reshape(-1, transitions.dim), intercept)
    return Moments(
        features / size, following / size, next_features / size, reward / size, next_reward / size, squared / size,
        initial.mean(axis=0),
    )  # fmt: skip


def _lifted(features: Array | NDArray[np.floating], intercept: bool) -> Floats:
    """To double precision, with a column of ones where wanted."""
    values = np.asarray(features, np.float64)
    return np.concatenate([values, np.ones((len(values), 1))], axis=1) if intercept else values


def solve(data: Moments, config: LSPEConfig) -> Solution:
    """Iterate to the fixed point, or name the reason why there is none."""
    scale = np.sqrt(np.diag(data.features))
    scale[scale == 0.0] = 1.0  # a feature that is always zero
    eigenvalues, vectors = np.linalg.eigh(data.features / np.outer(scale, scale))
    kept = eigenvalues > config.cutoff * eigenvalues[-1]
    if not kept.any():  # every feature is zero
        return Solution(
            np.zeros(len(scale)), 0.0, 0.0, 0, 1.0, np.sqrt(data.squared_reward), True, np.ones(1, int), np.zeros(1)
        )
    U = vectors[:, kept] / np.sqrt(eigenvalues[kept]) / scale[:, None]  # [d, rank]
    W, b, initial = U.T @ data.following @ U, U.T @ data.reward, U.T @ data.initial
    radius = float(np.abs(np.linalg.eigvals(W)).max())
    rank, condition = int(kept.sum()), float(eigenvalues[-1] / eigenvalues[kept][0])

    theta, estimates, converged = np.zeros(rank), [], False
    if radius < 1.0:
        for _ in range(config.sweeps):
            updated = b + W @ theta
            change = np.linalg.norm(updated - theta)  # the rms over the log, since E[zzᵀ] is the identity
            theta = updated
            estimates.append(initial @ theta)
            converged = bool(change <= config.tolerance * np.linalg.norm(theta))
            if converged:
                break
    else:
        theta = np.full(rank, np.nan)
        estimates = [np.nan]
    places = np.unique(np.linspace(0, len(estimates) - 1, CURVE_POINTS).astype(np.int64))
    weights = U @ theta
    squared = (
        data.squared_reward
        + weights @ (data.features - data.following - data.following.T + data.next_features) @ weights
        + 2.0 * weights @ (data.next_reward - data.reward)
    )
    return Solution(
        theta=weights,
        estimate=float(estimates[-1]),
        radius=radius,
        rank=rank,
        condition=condition,
        residual=float(np.sqrt(max(squared, 0.0))) if np.isfinite(squared) else float("nan"),
        converged=converged,
        sweeps=places + 1,
        estimates=np.array(estimates)[places],
    )


def estimate(problem: Problem, config: LSPEConfig, run: Run) -> Estimated:
    """One estimate per member with features of its own, or one alone: nothing here is random."""
    transitions = problem.transitions
    count = transitions.members or 1
    solutions = []
    for member in range(count):
        solutions.append(solve(moments(transitions, member, config.intercept, problem.gamma), config))
        if run.report:
            run.report("lspe", (member + 1) / count)
    values = np.array([s.estimate for s in solutions])
    return Estimated(values, {"lspe": as_trained(solutions)}, warnings(solutions, config))


def as_trained(solutions: list[Solution]) -> Trained:
    """The sweeps as training curves, so that they are drawn and kept like those of any method."""
    sweeps = max((s.sweeps for s in solutions), key=lambda places: int(places[-1]))  # [C]
    curves = {"estimate": np.stack([np.interp(sweeps, s.sweeps, s.estimates) for s in solutions], axis=1)}  # [C, M]
    for name in ("residual", "radius", "rank", "condition"):  # of the solution: the same at every sweep
        curves[name] = np.tile([float(getattr(s, name)) for s in solutions], (len(sweeps), 1))
    single = {name: values.astype(np.float32) for name, values in curves.items()}
    diverged = np.array([1 if np.isnan(s.estimate) else -1 for s in solutions])
    return Trained([s.theta for s in solutions], sweeps, single, diverged)


def warnings(solutions: list[Solution], config: LSPEConfig) -> tuple[str, ...]:
    found, count = [], len(solutions)
    diverged = [s.radius for s in solutions if s.radius >= 1.0]
    if diverged:
        found.append(
            f"least squares diverges in {len(diverged)} of {count} members: the spectral radius is "
            f"{max(diverged):.4g}, and only below 1 does the iteration converge; these features and this log do not "
            "go together"
        )
    slow = [s for s in solutions if s.radius < 1.0 and not s.converged]
    if slow:
        found.append(
            f"least squares had not converged after {config.sweeps} sweeps in {len(slow)} of {count} members (spectral "
            f"radius {max(s.radius for s in slow):.6g}); raise lspe.sweeps"
        )
    worst = max(s.condition for s in solutions)
    if worst > ILL_CONDITIONED:
        found.append(
            f"the features are nearly dependent (condition number {worst:.2g}): their weights are ill determined"
        )
    return tuple(found)


LSPE = Estimator(
    config=LSPEConfig,
    estimate=estimate,
    summary="least-squares policy evaluation: q linear in the features",
    takes_features=True,
    presets={"paper": PAPER},
)
