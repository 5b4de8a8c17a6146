"""Least-squares policy evaluation: q linear in the features, by iterated regression, in double precision.

    θ ← (ΦᵀΦ)⁺ Φᵀ ( r + Γ Φ' θ ),      ρ̂(π_e) = E_{s₀, a₀~π_e}[ φ(s₀, a₀)·θ ]

Φ holds the features of the logged pairs, Φ' their mean over π_e's actions in the next states, Γ the discounts. Only
the d×d moments of the data are needed, and one pass collects them. In coordinates z = φ·U that make ΦᵀΦ/N the
identity (U from its eigenvectors, directions that the log hardly shows left out: the pseudo-inverse), the iteration is

    θ ← b + W θ,      W = E[ z γ z'ᵀ ],   b = E[ z r ],

which converges for every reward if, and only if, the spectral radius of W is below 1. On off-policy data nothing
makes it so; then there is no estimate, and the radius is named. Where only the first H steps count, H sweeps from θ = 0
are the answer: each adds one step to go.

Native features of discrete actions are a state and a code of the action. Linear in those, q would be a sum of a part
for the state and one for the action, and could not tell which action is better where. So there φ holds their products:
a linear model of the state per action. What an encoder made is taken as it is.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.estimators.estimator import REPLICATES, Estimated, Estimator, mean_among
from ropeval.learning.engine import Run, Trained
from ropeval.settings import PartConfig

Floats = NDArray[np.float64]
BLOCK = 65_536  # rows brought to double precision at a time
TOGETHER = 64  # episodes whose moments are held at a time
REPLICATE_NUMBERS = 25_000_000  # held for all resamples together: with very many features there are fewer of them
FEWEST_REPLICATES = 40
CURVE_POINTS = 50
MOST_PRODUCTS = 200  # of state and action: moments grow with their square
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
    """Of the log as it is. `gamma`, if given, stands for its own rounding to single precision."""
    return resampled_moments(transitions, member, intercept, gamma, None)[0]


def resampled_moments(
    transitions: Transitions, member: int, intercept: bool, gamma: float | None, counts: NDArray[np.int64] | None
) -> list[Moments]:
    """One pass over the log for every resample in `counts` [B, E]; None: for the log as it is alone."""
    if counts is None:
        edges = np.append(np.arange(0, transitions.size, BLOCK), transitions.size)
        held = np.ones((1, len(edges) - 1))
    else:
        edges, held = np.asarray(transitions.starts), counts.astype(np.float64)
    width, together, code = _width(transitions, intercept), 1 if counts is None else TOGETHER, _code(transitions)
    total = np.zeros((len(held), (2 * width + 1) ** 2 + 1))
    firsts = range(0, len(edges) - 1, together)
    for first, rows in zip(firsts, transitions.blocks([*edges[:-1:together], edges[-1]], member), strict=True):
        bounds = edges[first : first + together + 1]
        joint = _joint(rows, code, intercept, gamma)  # [n, 2d + 1]
        parts = [joint[a:b] for a, b in pairwise(bounds - bounds[0])]
        products = np.stack([np.append((part.T @ part).ravel(), float(len(part))) for part in parts])
        total += held[:, first : first + together] @ products

    initial = initial_features(transitions, member, intercept)  # [E, d]
    starting = initial.mean(axis=0)[None] if counts is None else counts @ initial / counts.sum(axis=1)[:, None]
    return [_split(sums[:-1] / max(sums[-1], 1.0), start, width) for sums, start in zip(total, starting, strict=True)]


def initial_features(transitions: Transitions, member: int, intercept: bool) -> Floats:
    """[E, d] φ(s₀, a₀), the mean over the policy's actions."""
    initial_x = transitions.initial_block(member=member).astype(np.float64)  # [E, K, X]
    means = expected(initial_x, _doubles(transitions.initial_weight))
    return _lifted(means, _code(transitions), intercept)


def _joint(rows: Rows, code: int, intercept: bool, gamma: float | None) -> Floats:
    """[n, 2d + 1] φ, γφ' and r of some rows, side by side: all that is wanted lies in their products."""
    discount = np.array(rows.discount, np.float64)
    if gamma is not None:
        discount[discount == np.float32(gamma)] = gamma
    following = expected(rows.next_x.astype(np.float64), _doubles(rows.next_weight))  # [n, X]
    next_phi = _lifted(following, code, intercept) * discount[:, None]
    reward = np.asarray(rows.reward, np.float64)
    return np.concatenate([_lifted(rows.x, code, intercept), next_phi, reward[:, None]], axis=1)


def _doubles(weight: Any) -> Floats | None:
    return None if weight is None else np.asarray(weight, np.float64)


def _split(joint: Floats, initial: Floats, d: int) -> Moments:
    """The blocks of the means of [φ, γφ', r] with itself."""
    square = joint.reshape(2 * d + 1, 2 * d + 1)
    return Moments(
        features=square[:d, :d],
        following=square[:d, d : 2 * d],
        next_features=square[d : 2 * d, d : 2 * d],
        reward=square[:d, -1],
        next_reward=square[d : 2 * d, -1],
        squared_reward=float(square[-1, -1]),
        initial=initial,
    )


def _lifted(features: Array | NDArray[np.floating], code: int, intercept: bool) -> Floats:
    """[n, d] in double precision: products of state and action where there is a code, and a one where it is wanted.

    Of means over actions it makes the mean of the products, since the state is the same in all of them.
    """
    values = np.asarray(features, np.float64)
    ones = np.ones((len(values), 1))
    if code:
        states, actions = np.concatenate([values[:, :-code], ones], axis=1), values[:, -code:]  # [n, S + 1], [n, A]
        values = (actions[:, :, None] * states[:, None, :]).reshape(len(values), -1)
    return np.concatenate([values, ones], axis=1) if intercept else values


def _code(transitions: Transitions) -> int:
    """Length of the action's code, where there are products; 0 where features are taken as they are."""
    return transitions.code if _products(transitions) <= MOST_PRODUCTS else 0


def _products(transitions: Transitions) -> int:
    return transitions.code * (transitions.dim - transitions.code + 1)


def _width(transitions: Transitions, intercept: bool) -> int:
    """d."""
    return (_products(transitions) if _code(transitions) else transitions.dim) + intercept


class Coordinates(NamedTuple):
    """The iteration where E[zzᵀ] is the identity."""

    U: Floats  # [d, rank] z = φ·U
    W: Floats  # [rank, rank]
    b: Floats  # [rank]
    initial: Floats  # [rank]
    condition: float

    @property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.W)).max())


def whiten(data: Moments, config: LSPEConfig) -> Coordinates | None:
    """None where every feature is zero."""
    scale = np.sqrt(np.diag(data.features))
    scale[scale == 0.0] = 1.0  # a feature that is always zero
    eigenvalues, vectors = np.linalg.eigh(data.features / np.outer(scale, scale))
    kept = eigenvalues > config.cutoff * eigenvalues[-1]
    if not kept.any():
        return None
    U = vectors[:, kept] / np.sqrt(eigenvalues[kept]) / scale[:, None]  # [d, rank]
    condition = float(eigenvalues[-1] / eigenvalues[kept][0])
    return Coordinates(U, U.T @ data.following @ U, U.T @ data.reward, U.T @ data.initial, condition)


def fixed_point(data: Moments, config: LSPEConfig, horizon: int | None = None) -> Floats:
    """θ [d] that the iteration converges to, without iterating, nan where it diverges; or after `horizon` sweeps."""
    found = whiten(data, config)
    if found is None:
        return np.zeros(len(data.reward))
    if horizon is not None:
        theta = np.zeros(len(found.b))
        for _ in range(horizon):
            theta = found.b + found.W @ theta
        return found.U @ theta
    if found.radius >= 1.0:
        return np.full(len(data.reward), np.nan)
    return found.U @ np.linalg.solve(np.eye(len(found.b)) - found.W, found.b)


def solve(data: Moments, config: LSPEConfig, horizon: int | None = None) -> Solution:
    """Iterate to the fixed point, or name the reason why there is none."""
    found = whiten(data, config)
    if found is None:
        return Solution(
            np.zeros(len(data.reward)), 0.0, 0.0, 0, 1.0, np.sqrt(data.squared_reward), True, np.ones(1, int),
            np.zeros(1),
        )  # fmt: skip
    U, W, b, initial, condition = found
    radius, rank = found.radius, len(b)
    estimates: list[float] = []
    theta, converged = np.zeros(rank), horizon is not None
    if horizon is not None:
        for _ in range(horizon):
            theta = b + W @ theta
            estimates.append(float(initial @ theta))
    elif radius < 1.0:
        for _ in range(config.sweeps):
            updated = b + W @ theta
            change = np.linalg.norm(updated - theta)  # the rms over the log, since E[zzᵀ] is the identity
            theta = updated
            estimates.append(float(initial @ theta))
            converged = bool(change <= config.tolerance * np.linalg.norm(theta))
            if converged:
                break
    else:
        theta = np.full(rank, np.nan)
        estimates = [float("nan")]
    places = np.unique(np.linspace(0, len(estimates) - 1, CURVE_POINTS).astype(np.int64))
    weights = U @ theta
    squared = float(
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


@dataclass(frozen=True, eq=False)
class LinearQ:
    """Every member's q: φ·θ."""

    thetas: list[Floats]
    transitions: Transitions
    intercept: bool

    def backup(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """q(s, a) and r + γ·E_{a'~π_e} q(s', a') of some logged steps: [M, n] each."""
        values, backups = [], []
        for member, theta in enumerate(self.thetas):
            joint = _joint(self.transitions.block(rows, member), _code(self.transitions), self.intercept, None)
            values.append(joint[:, : len(theta)] @ theta)
            backups.append(joint[:, len(theta) :] @ np.append(theta, 1.0))
        return np.stack(values), np.stack(backups)


def estimate(problem: Problem, config: LSPEConfig, run: Run) -> Estimated:
    """One estimate per member with features of its own, or one alone: nothing here is random."""
    transitions = problem.transitions
    count = transitions.members or 1
    solutions = []
    for member in range(count):
        own = run.counts[member : member + 1] if run.counts is not None and transitions.members else None
        (data,) = resampled_moments(transitions, member, config.intercept, problem.gamma, own)
        solutions.append(solve(data, config, problem.horizon))
        if run.report:
            run.report(run.part, (member + 1) / count)
    thetas = [s.theta for s in solutions]
    initial = [initial_features(transitions, member, config.intercept) for member in range(count)]  # [E, d] each
    resampled = None if transitions.members else replicates(problem, config, run)

    def among(held: NDArray[np.bool_]) -> Estimated:
        if transitions.members:
            values = np.stack([own @ theta for own, theta in zip(initial, thetas, strict=True)])  # [M, E]
            return mean_among(run, values, held)
        value = np.array([initial[0][held].mean(axis=0) @ thetas[0]])
        return Estimated(value, replicates=None if resampled is None else resampled.values(initial[0], held))

    return Estimated(
        np.array([s.estimate for s in solutions]),
        (as_trained(run.part, solutions),),
        (*warnings(solutions, config, problem.horizon), *_too_many(transitions)),
        None if resampled is None else resampled.values(initial[0], np.ones(len(initial[0]), bool)),
        q=LinearQ(thetas, transitions, config.intercept),
        among=among,
    )


def _too_many(transitions: Transitions) -> tuple[str, ...]:
    if _products(transitions) <= MOST_PRODUCTS:
        return ()
    return (
        f"{transitions.code} actions and {transitions.dim - transitions.code} numbers of a state make too many "
        "products for a model per action: q is a sum of a part for each, and cannot tell which action is better where",
    )


class Resampled(NamedTuple):
    """What resampled logs make of θ."""

    counts: NDArray[np.int64]  # [B, E]
    thetas: Floats  # [B, d]

    def values(self, initial: Floats, held: NDArray[np.bool_]) -> Floats:
        """[B] over the initial features [E, d] of the episodes that are held [E]."""
        counts = self.counts * held[None]
        with np.errstate(invalid="ignore"):
            means = counts @ initial / counts.sum(axis=1)[:, None]  # [B, d]
        return np.asarray((means * self.thetas).sum(axis=1))


def replicates(problem: Problem, config: LSPEConfig, run: Run) -> Resampled | None:
    """None where nothing is resampled."""
    if run.resamples is None:
        return None
    numbers = (2 * _width(problem.transitions, intercept=True) + 1) ** 2
    many = int(np.clip(REPLICATE_NUMBERS // numbers, FEWEST_REPLICATES, REPLICATES))
    counts = run.resamples.counts(0, many)
    data = resampled_moments(problem.transitions, 0, config.intercept, problem.gamma, counts)
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
