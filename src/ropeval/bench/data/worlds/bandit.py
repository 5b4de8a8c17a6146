"""A contextual bandit: six numbers are seen, one of five actions is taken, a noisy reward follows, and that is all.

The mean reward of an action is a bent function of the context, so that no linear policy is the best one.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

from ropeval.bench.data.truth import Answer, standard_error
from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.errors import UserError
from ropeval.policies.discrete import CategoricalMLP
from ropeval.policies.policy import Policy

CONTEXT, ACTIONS = 6, 5
NOISE = 0.5  # standard deviation of a reward around its mean
SEED = 20
POINTS, SHIFTS = 1 << 12, 16  # of the quasi-random integration, and its independent repetitions
RECIPE = {"worst": (-1.0, 0.0), "weak": (0.3, 2.0), "fair": (1.0, 1.0), "good": (2.0, 0.5), "best": (6.0, 0.0)}
Floats = NDArray[np.float64]


@cache
def _world() -> tuple[Floats, Floats, Floats]:
    """Slopes [A, d], directions [A, d] and phases [A] of the five mean rewards."""
    rng = np.random.default_rng(SEED)
    return (
        0.3 * rng.standard_normal((ACTIONS, CONTEXT)),
        rng.standard_normal((ACTIONS, CONTEXT)) / CONTEXT**0.5,
        rng.uniform(0, 2 * np.pi, ACTIONS),
    )


def mean_rewards(contexts: Floats) -> Floats:
    """[n, d] → [n, A]"""
    slopes, directions, phases = _world()
    return contexts @ slopes.T + np.sin(2 * contexts @ directions.T + phases)


def answer(policy: Policy) -> Answer:
    """E Σ_a π(a|x) r(x, a), x ~ N(0, I), over shifted Sobol points; the shifts tell the error."""
    means = np.array([_integral(policy, shift) for shift in range(SHIFTS)])
    value = float(means.mean())
    return Answer(value, value, 1.0, standard_error(means))


def _integral(policy: Policy, shift: int) -> float:
    points = qmc.Sobol(CONTEXT, seed=shift).random(POINTS)
    contexts = norm.ppf(np.clip(points, 1e-9, 1 - 1e-9))
    chances = policy.action_probabilities(contexts.astype(np.float32))  # [n, A]
    if chances is None:
        raise UserError(f"policy {policy.name}: it draws its actions and cannot tell how (it has no log_prob)")
    return float((chances * mean_rewards(contexts)).sum(axis=1).mean())


def _policies() -> dict[str, Policy]:
    """Softmax of the best linear guess at the rewards: name → (sharpness, how much of it is wrong)."""
    rng = np.random.default_rng(SEED + 1)
    contexts = rng.standard_normal((4096, CONTEXT))
    fitted, *_ = np.linalg.lstsq(np.column_stack([contexts, np.ones(4096)]), mean_rewards(contexts), rcond=None)
    wrong = rng.standard_normal(fitted.shape) * np.abs(fitted).mean()
    made: dict[str, Policy] = {}
    for name, (sharpness, error) in RECIPE.items():
        scores = np.round(sharpness * (fitted + error * wrong), 4).T.astype(np.float32)  # the same on every machine
        made[name] = CategoricalMLP([], (scores[:, :-1], scores[:, -1]), name=name)
    return made


policies = Lineup(RECIPE, _policies)
