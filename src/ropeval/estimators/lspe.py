"""Least-squares policy evaluation: q linear in the features, by iterated regression, in double precision.

    θ ← (ΦᵀΦ)⁺ Φᵀ ( r + Γ Φ' θ ),      ρ̂(π_e) = E_{s₀, a₀~π_e}[ φ(s₀, a₀)·θ ]

Φ holds the features of the logged pairs, Φ' their mean over π_e's actions in the next states, Γ the discounts. Only
the d×d moments of the data are needed (`linear_features.py`). In coordinates z = φ·U that make ΦᵀΦ/N the identity (U
from its eigenvectors, directions that the log hardly shows left out: the pseudo-inverse), the iteration is

    θ ← b + W θ,      W = E[ z γ z'ᵀ ],   b = E[ z r ],

which converges for every reward if, and only if, the spectral radius of W is below 1. On off-policy data nothing
makes it so; then there is no estimate, and the radius is named. Where only the first H steps count, H sweeps from θ = 0
are the answer: each adds one step to go.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.data import Problem
from ropeval.estimators.estimator import REPLICATES, Estimated, Estimator, mean_among
from ropeval.estimators.linear_features import LinearFeatures, Moments
from ropeval.learning.engine import Run, Trained
from ropeval.settings import PartConfig

REPLICATE_NUMBERS = 25_000_000  # held for all resamples together: with very many features there are fewer of them
FEWEST_REPLICATES = 40
CURVE_POINTS = 50
ILL_CONDITIONED = 1e8  # of the kept directions: features in single precision carry no more


class LSPEConfig(PartConfig):
    sweeps: PositiveInt = 20_000  # at most; each costs d² operations
    tolerance: PositiveFloat = 1e-10  # stop when q's rms change is below this share of its rms
    intercept: bool = True  # append a constant feature
    cutoff: NonNegativeFloat = 1e-10  # eigenvalues of ΦᵀΦ (columns of unit rms) below this share of the largest are 0


PAPER = {"sweeps": 1_000, "intercept": False}


# --- the iteration --------------------------------------------------------------------------------------------


class Coordinates(NamedTuple):
    """The iteration where E[zzᵀ] is the identity."""

    U: Floats  # [d, rank] z = φ·U
    W: Floats  # [rank, rank]
    b: Floats  # [rank]
    initial: Floats  # [rank]
    condition: float  # largest over smallest kept eigenvalue of ΦᵀΦ

    @property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.W)).max(initial=0.0))

    def sweeps(self, count: int) -> Iterator[Floats]:
        """θ [rank] after one sweep, after two, …"""
        theta = np.zeros(len(self.b))
        for _ in range(count):
            theta = self.b + self.W @ theta
            yield theta


def whiten(data: Moments, config: LSPEConfig) -> Coordinates:
    """Where every feature is zero, none is left."""
    scale = np.sqrt(np.diag(data.features))
    scale[scale == 0.0] = 1.0  # a feature that is always zero
    eigenvalues, vectors = np.linalg.eigh(data.features / np.outer(scale, scale))
    kept = eigenvalues > config.cutoff * eigenvalues[-1]
    U = vectors[:, kept] / np.sqrt(eigenvalues[kept]) / scale[:, None]  # [d, rank]
    condition = float(eigenvalues[-1] / eigenvalues[kept][0]) if kept.any() else 1.0
    return Coordinates(U, U.T @ data.following @ U, U.T @ data.reward, U.T @ data.initial, condition)


def fixed_point(data: Moments, config: LSPEConfig, horizon: int | None = None) -> Floats:
    """θ [d] that the iteration converges to, without iterating, nan where it diverges; or after `horizon` sweeps."""
    at = whiten(data, config)
    if horizon is not None:
        *_, theta = at.sweeps(horizon)
        return at.U @ theta
    if at.radius >= 1.0:
        return np.full(len(data.reward), np.nan)
    return at.U @ np.linalg.solve(np.eye(len(at.b)) - at.W, at.b)


@dataclass(frozen=True, eq=False)
class Solution:
    """One member's answer, and what speaks for and against it."""

    theta: Floats  # [d]; the last entry is the intercept's, where there is one
    estimate: float  # nan where the iteration diverges
    radius: float  # spectral radius of W
    rank: int  # directions kept
    condition: float
    residual: float  # rms of r + γ q(x') − q(x) over the log
    converged: bool
    sweeps: Integers  # [C]
    estimates: Floats  # [C] after these sweeps


def solve(data: Moments, config: LSPEConfig, horizon: int | None = None) -> Solution:
    """Iterate to the fixed point, or name the reason why there is none."""
    at = whiten(data, config)
    radius, rank = at.radius, len(at.b)
    theta, estimates, converged = np.full(rank, np.nan), [float("nan")], False
    if horizon is not None or radius < 1.0:
        theta, estimates = np.zeros(rank), []
        for updated in at.sweeps(horizon or config.sweeps):
            change = np.linalg.norm(updated - theta)  # the rms over the log, since E[zzᵀ] is the identity
            theta = updated
            estimates.append(float(at.initial @ theta))
            converged = bool(change <= config.tolerance * np.linalg.norm(theta))
            if converged and horizon is None:
                break
    places = np.unique(np.linspace(0, len(estimates) - 1, CURVE_POINTS).astype(np.int64))
    weights = at.U @ theta
    squared = float(
        data.squared_reward
        + weights @ (data.features - data.following - data.following.T + data.next_features) @ weights
        + 2.0 * weights @ (data.next_reward - data.reward)
    )
    return Solution(
        theta=weights,
        estimate=estimates[-1],
        radius=radius,
        rank=rank,
        condition=at.condition,
        residual=float(np.sqrt(max(squared, 0.0))) if np.isfinite(squared) else float("nan"),
        converged=converged or horizon is not None,
        sweeps=places + 1,
        estimates=np.array(estimates)[places],
    )


# --- the estimate ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearQ:
    """Every member's q: φ·θ."""

    thetas: list[Floats]
    phi: LinearFeatures

    def backup(self, rows: Integers) -> tuple[Floats, Floats]:
        """q(s, a) and r + γ·E_{a'~π_e} q(s', a') of some logged steps: [M, n] each."""
        values, backups = [], []
        for member, theta in enumerate(self.thetas):
            joint = self.phi.joint(self.phi.transitions.block(rows, member))
            values.append(joint[:, : len(theta)] @ theta)
            backups.append(joint[:, len(theta) :] @ np.append(theta, 1.0))
        return np.stack(values), np.stack(backups)


def estimate(problem: Problem, config: LSPEConfig, run: Run) -> Estimated:
    """One estimate per member with features of its own, or one alone: nothing here is random."""
    members, phi = problem.transitions.members, LinearFeatures(problem.transitions, config.intercept)
    count = members or 1
    solutions = []
    for member in range(count):
        own = run.counts[member : member + 1] if run.counts is not None and members else None
        (data,) = phi.moments(member, problem.gamma, own)
        solutions.append(solve(data, config, problem.horizon))
        if run.report:
            run.report(run.part, (member + 1) / count)
    thetas = [s.theta for s in solutions]
    initial = [phi.initial(member) for member in range(count)]  # [E, d] each
    resampled = None if members else replicates(problem, phi, config, run)

    def among(held: Booleans) -> Estimated:
        if members:
            values = np.stack([own @ theta for own, theta in zip(initial, thetas, strict=True)])  # [M, E]
            return mean_among(run, values, held)
        value = np.array([initial[0][held].mean(axis=0) @ thetas[0]])
        return Estimated(value, replicates=None if resampled is None else resampled.values(initial[0], held))

    return Estimated(
        np.array([s.estimate for s in solutions]),
        (as_trained(run.part, solutions),),
        (*warnings(solutions, config, problem.horizon), *_too_many(phi)),
        None if resampled is None else resampled.values(initial[0], np.ones(len(initial[0]), bool)),
        q=LinearQ(thetas, phi),
        among=among,
    )


def _too_many(phi: LinearFeatures) -> tuple[str, ...]:
    if phi.code == phi.transitions.code:
        return ()
    actions, numbers = phi.transitions.code, phi.transitions.dim - phi.transitions.code
    return (
        f"{actions} actions and {numbers} numbers of a state make too many products for a model per action: q is a sum "
        "of a part for each, and cannot tell which action is better where",
    )


class Resampled(NamedTuple):
    """What resampled logs make of θ."""

    counts: Integers  # [B, E]
    thetas: Floats  # [B, d]

    def values(self, initial: Floats, held: Booleans) -> Floats:
        """[B] over the initial features [E, d] of the episodes that are held [E]."""
        counts = self.counts * held[None]
        with np.errstate(invalid="ignore"):
            means = counts @ initial / counts.sum(axis=1)[:, None]  # [B, d]
        return np.asarray((means * self.thetas).sum(axis=1))


def replicates(problem: Problem, phi: LinearFeatures, config: LSPEConfig, run: Run) -> Resampled | None:
    """None where nothing is resampled."""
    if run.resamples is None:
        return None
    numbers = (2 * (phi.size + (not phi.intercept)) + 1) ** 2
    many = int(np.clip(REPLICATE_NUMBERS // numbers, FEWEST_REPLICATES, REPLICATES))
    counts = run.resamples.counts(0, many)
    data = phi.moments(0, problem.gamma, counts)
    return Resampled(counts, np.stack([fixed_point(each, config, problem.horizon) for each in data]))


def as_trained(stage: str, solutions: list[Solution]) -> Trained:
    """The sweeps as training curves, so that they are drawn and kept like those of any method."""
    sweeps = max((s.sweeps for s in solutions), key=lambda places: int(places[-1]))  # [C]
    curves = {"estimate": np.stack([np.interp(sweeps, s.sweeps, s.estimates) for s in solutions], axis=1)}  # [C, M]
    for name in ("residual", "radius", "rank", "condition"):  # of the solution: the same at every sweep
        curves[name] = np.tile([float(getattr(s, name)) for s in solutions], (len(sweeps), 1))
    single = {name: values.astype(np.float32) for name, values in curves.items()}
    diverged = np.array([1 if np.isnan(s.estimate) else -1 for s in solutions])
    return Trained(stage, [s.theta for s in solutions], sweeps, single, diverged)


def warnings(solutions: list[Solution], config: LSPEConfig, horizon: int | None = None) -> tuple[str, ...]:
    found, count = [], len(solutions)
    diverged = [s.radius for s in solutions if s.radius >= 1.0 and horizon is None]
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
    name="lspe",
    config=LSPEConfig,
    estimate=estimate,
    summary="least-squares policy evaluation: q linear in the features",
    takes_features=True,
    family="least squares",
    presets={"paper": PAPER},
    by_group=True,
    takes_horizon=True,
)
