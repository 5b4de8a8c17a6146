"""A linear-quadratic problem with noise: s' = A s + B a + w, reward −(sᵀQs + aᵀRa). Everything is matrix algebra."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_are, solve_discrete_lyapunov

from ropeval.bench.data.truth import Answer
from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.errors import UserError
from ropeval.policies.networks import digest
from ropeval.policies.policy import Policy

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy

Floats = NDArray[np.float64]

# Two carts on a line, a spring between them; positions and velocities are seen, each cart is pushed.
STEP = 0.1  # seconds
A = np.eye(4) + STEP * np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 1, -0.1, 0], [1, -1, 0, -0.1]], float)
B = STEP * np.array([[0, 0], [0, 0], [1, 0], [0, 1]], float)
Q, R = np.diag([1.0, 1.0, 0.1, 0.1]), 0.1 * np.eye(2)
NOISE = 0.02 * np.eye(4)  # covariance of w
START = np.diag([1.0, 1.0, 0.25, 0.25])  # covariance of the first state
GAMMA = 0.95
TIME_LIMIT = 200
LARGEST = 50.0  # the pushes have no bound; the action space must have one, far away
RECIPE = {  # share of the best gain, standard deviation of the push around it
    "noise": (0.0, 1.0),
    "weakest": (0.02, 0.5), "weak": (0.1, 0.5), "fair": (0.25, 0.4), "good": (0.5, 0.3), "best": (1.0, 0.2),
}  # fmt: skip


class LinearPolicy(Policy):
    """a = −K s + noise."""

    discrete = False
    deterministic = False

    def __init__(self, name: str, gain: Floats, noise: float):
        self.name, self.gain, self.noise = name, gain, noise
        self.action_size, self.observation_size = gain.shape

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float64]:
        mean = -observations @ self.gain.T
        return np.asarray(mean + self.noise * rng.standard_normal(mean.shape))

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[np.float32]) -> NDArray[np.float64]:
        z = (actions + observations @ self.gain.T) / self.noise
        return np.asarray((-0.5 * z**2 - np.log(self.noise) - 0.5 * np.log(2 * np.pi)).sum(axis=-1))

    def compiled(self) -> "CompiledPolicy":
        import jax

        from ropeval.policies.compiled import CompiledPolicy, PureFunction

        def act(params: Any, observations: jax.Array, key: jax.Array) -> jax.Array:
            gain, noise = params
            mean = -observations @ gain.T
            return mean + noise * jax.random.normal(key, mean.shape)

        return CompiledPolicy((self.gain.astype(np.float32), np.float32(self.noise)), PureFunction("linear", act))

    @property
    def sha256(self) -> str:
        return digest("linear", [self.gain, np.array([self.noise])])


def answer(policy: Policy, gamma: float, time_limit: int) -> Answer:
    """v(s) = −(sᵀPs + c) with P from Lyapunov's equation; episodes by stepping the covariance of the state."""
    gain, spread = _moments(policy)
    closed, cost = A - B @ gain, Q + gain.T @ R @ gain  # [4, 4] each
    shaken = NOISE + B @ spread @ B.T  # covariance that every step adds
    pushing = float(np.trace(R @ spread))  # what the policy's own noise costs per step
    P = solve_discrete_lyapunov(gamma**0.5 * closed.T, cost)
    constant = (pushing + gamma * np.trace(P @ shaken)) / (1 - gamma)
    covariance, total = START, 0.0
    for _ in range(time_limit):
        total -= float(np.trace(cost @ covariance)) + pushing
        covariance = closed @ covariance @ closed.T + shaken
    return Answer(-float(np.trace(P @ START) + constant), total, float(time_limit))


def _moments(policy: Policy) -> tuple[Floats, Floats]:
    """Gain [2, 4] and covariance [2, 2] of its actions: all that a quadratic cost sees of a policy."""
    if isinstance(policy, LinearPolicy):
        return policy.gain, policy.noise**2 * np.eye(2)
    raise UserError(f"policy {policy.name}: only linear policies have an exact value here")


def best_gain(gamma: float = GAMMA) -> Floats:
    """Of the discounted problem, by Riccati's equation for √γ·A, √γ·B. [2, 4]"""
    a, b = gamma**0.5 * A, gamma**0.5 * B
    P = solve_discrete_are(a, b, Q, R)
    return np.asarray(np.linalg.solve(R + b.T @ P @ b, b.T @ P @ a))


def _policies() -> dict[str, LinearPolicy]:
    best = best_gain()
    return {name: LinearPolicy(name, np.round(share * best, 6), noise) for name, (share, noise) in RECIPE.items()}


policies = Lineup(RECIPE, _policies)
