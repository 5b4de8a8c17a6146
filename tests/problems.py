"""Small problems whose answers are known exactly: a chain, and a linear-quadratic system."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.policies import CallablePolicy, Policy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """States 0 … n−1 in a row. Action 1 goes right with probability 0.9, else stays; action 0 goes left likewise.

    Leaving the last state to the right ends the episode with a reward of 1; every step costs 0.1·(state mod 2).
    Observations are one-hot.
    """

    size: int = 5
    gamma: float = 0.9
    slip: float = 0.1
    terminates: bool = True  # otherwise going right from the last state stays there

    def tables(self) -> tuple[Array, Array]:
        """P [S, A, S+1] with the last column for termination, r [S, A]."""
        n = self.size
        P, r = np.zeros((n, 2, n + 1)), np.zeros((n, 2))
        for s in range(n):
            P[s, 0, max(s - 1, 0)] += 1 - self.slip
            P[s, 0, s] += self.slip
            goal = s + 1 if s + 1 < n else (n if self.terminates else s)
            P[s, 1, goal] += 1 - self.slip
            P[s, 1, s] += self.slip
            r[s] = -0.1 * (s % 2)
        r[n - 1, 1] += 1.0
        return P, r

    def values(self, right: float) -> tuple[Array, float]:
        """q [S, A] and the value from state 0 of the policy that goes right with this probability."""
        P, r = self.tables()
        pi = np.array([1 - right, right])
        n = self.size
        transition = np.einsum("sat,b->satb", P[:, :, :n], pi).reshape(2 * n, 2 * n)
        q = np.linalg.solve(np.eye(2 * n) - self.gamma * transition, r.reshape(-1)).reshape(n, 2)
        return q, float(q[0] @ pi)

    def log(
        self, episodes: int, length: int = 30, right: float = 0.5, seed: int = 0, log_probs: bool = False
    ) -> Dataset:
        """Episodes from state 0, cut off after `length` steps; with the behaviour's probabilities if wanted."""
        rng = np.random.default_rng(seed)
        P, r = self.tables()
        rows: list[tuple[int, int, float, int, bool, bool]] = []
        for _ in range(episodes):
            s = 0
            for t in range(length):
                a = int(rng.random() < right)
                to = int(rng.choice(self.size + 1, p=P[s, a]))
                ended = to == self.size
                rows.append((s, a, r[s, a], s if ended else to, ended, not ended and t == length - 1))
                if ended:
                    break
                s = to
        state, action, reward, following, done, cut = (np.array(c) for c in zip(*rows, strict=True))
        eye = np.eye(self.size, dtype=np.float32)
        return Dataset.from_columns(
            {
                "observations": eye[state],
                "actions": action,
                "rewards": reward,
                "terminations": done,
                "truncations": cut,
                "next_observations": eye[following],
            }
            | ({"log_probs": np.log(np.where(action == 1, right, 1 - right))} if log_probs else {}),
            name="chain",
        )

    @staticmethod
    def policy(right: float) -> Policy:
        if right in (0.0, 1.0):
            return CallablePolicy(lambda o: np.full(len(o), int(right)), deterministic=True, name=f"right {right}")
        return CallablePolicy(
            lambda o, rng: (rng.random(len(o)) < right).astype(int),
            deterministic=False,
            name=f"right {right}",
            log_prob=lambda o, a: np.log(np.where(a == 1, right, 1 - right)),
        )


@dataclass(frozen=True)
class LinearQuadratic:
    """s' = F s + G a + noise, r = −(s·s + ½ a·a), policy a = K s + σ·ε, never ending."""

    gamma: float = 0.9
    noise: float = 0.1

    F = np.array([[0.9, 0.2], [-0.1, 0.8]])
    G = np.array([[0.0], [0.5]])
    K = np.array([[-0.3, -0.5]])

    def quadratic(self, sigma: float) -> tuple[Array, float]:
        """(M, c) with V(s) = −(sᵀMs + c)."""
        closed = self.F + self.G @ self.K
        M = np.zeros((2, 2))
        for _ in range(2000):
            M = np.eye(2) + 0.5 * self.K.T @ self.K + self.gamma * closed.T @ M @ closed
        spread = np.trace(M) * self.noise**2 + sigma**2 * float((self.G.T @ M @ self.G).item())
        return M, (0.5 * sigma**2 + self.gamma * spread) / (1 - self.gamma)

    def value(self, sigma: float) -> float:
        """Mean of V over initial states that are standard normal."""
        M, c = self.quadratic(sigma)
        return -(float(np.trace(M)) + c)

    def value_at(self, states: Array, sigma: float) -> float:
        """Mean of V over given states."""
        M, c = self.quadratic(sigma)
        return -(float(np.einsum("ns,st,nt->n", states, M, states).mean()) + c)

    def log(
        self, episodes: int, length: int = 10, exploration: float = 0.6, seed: int = 0, log_probs: bool = False
    ) -> Dataset:
        rng = np.random.default_rng(seed)
        s = rng.standard_normal((episodes, 2))
        columns: dict[str, list[Array]] = {k: [] for k in ("observations", "actions", "rewards", "next_observations")}
        for _ in range(length):
            a = s @ self.K.T + exploration * rng.standard_normal((episodes, 1))
            following = s @ self.F.T + a @ self.G.T + self.noise * rng.standard_normal((episodes, 2))
            reward = -((s**2).sum(1) + 0.5 * (a**2).sum(1))
            for name, value in zip(columns, (s, a, reward, following), strict=True):
                columns[name].append(value)
            s = following
        flat = {
            name: np.stack(values, axis=1).reshape(episodes * length, *values[0].shape[1:])
            for name, values in columns.items()
        }
        if log_probs:
            flat["log_probs"] = self.log_density(flat["observations"], flat["actions"], exploration)
        cut = np.tile(np.arange(length) == length - 1, episodes)
        return Dataset.from_columns(flat | {"terminations": np.zeros_like(cut), "truncations": cut}, name="lq")

    def log_density(self, states: Array, actions: Array, sigma: float) -> Array:
        """log π(a|s) of the linear policy with this spread."""
        error = (np.asarray(actions, np.float64) - states @ self.K.T)[:, 0] / sigma
        return -0.5 * error**2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)

    def policy(self, sigma: float) -> Policy:
        if sigma == 0:
            return CallablePolicy(lambda o: o @ self.K.T, deterministic=True, name="linear")
        return CallablePolicy(
            lambda o, rng: o @ self.K.T + sigma * rng.standard_normal((len(o), 1)),
            deterministic=False,
            name=f"linear + {sigma}",
            log_prob=lambda o, a: self.log_density(o, a, sigma),
        )
