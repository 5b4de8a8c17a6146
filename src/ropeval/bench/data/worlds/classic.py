"""Classic control, thousands of episodes at once: the same equations as Gymnasium's, on arrays, for true values.

Gymnasium plays one episode at a time, and half a percent of the range of values takes thousands of them. Here all are
played in step; the tests compare every environment with Gymnasium's, step by step.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ropeval.policies.policy import Policy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
NEGLIGIBLE = 1e-4  # γ^t beyond which nothing counts


class Physics(Protocol):
    """States [n, d] in, states out."""

    def start(self, count: int, rng: np.random.Generator) -> Floats: ...

    def observe(self, states: Floats) -> Floats: ...

    def step(self, states: Floats, actions: NDArray[Any]) -> tuple[Floats, Floats, Flags]:
        """Next states, rewards [n], and whose episode is over [n]."""
        ...


def play(physics: Physics, policy: Policy, gamma: float, time_limit: int, episodes: int, seed: int = 0) -> Floats:
    """What `summarise_episode` says of each episode: discounted return (without time limit), return, length. [n, 3]"""
    rng = np.random.default_rng(seed)
    states = physics.start(episodes, rng)
    summaries, playing = np.zeros((episodes, 3)), np.arange(episodes)
    time = 0
    while len(playing) and gamma**time > NEGLIGIBLE:
        actions = policy.sample(physics.observe(states).astype(np.float32), rng)
        states, rewards, over = physics.step(states, np.asarray(actions))
        summaries[playing, 0] += gamma**time * rewards
        if time < time_limit:
            summaries[playing, 1] += rewards
            summaries[playing, 2] += 1
        playing, states, time = playing[~over], states[~over], time + 1
    return summaries


class CartPole:
    """Position and velocity of the cart, angle and its velocity of the pole."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        return rng.uniform(-0.05, 0.05, (count, 4))

    def observe(self, states: Floats) -> Floats:
        return states

    def step(self, states: Floats, actions: NDArray[Any]) -> tuple[Floats, Floats, Flags]:
        gravity, pole, mass, half, push, tau = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02  # the pole's mass, and that of both
        _, speed, angle, turn = states.T
        sine, cosine = np.sin(angle), np.cos(angle)
        force = (np.where(actions == 1, push, -push) + pole * half * turn**2 * sine) / mass
        turning = (gravity * sine - cosine * force) / (half * (4 / 3 - pole * cosine**2 / mass))
        moving = force - pole * half * turning * cosine / mass
        after = states + tau * np.stack([speed, moving, turn, turning], axis=1)
        fallen = (np.abs(after[:, 0]) > 2.4) | (np.abs(after[:, 2]) > 12 * np.pi / 180)
        return after, np.ones(len(states)), fallen


class Acrobot:
    """Two angles and their velocities; a torque at the joint between two links."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        return rng.uniform(-0.1, 0.1, (count, 4))

    def observe(self, states: Floats) -> Floats:
        first, second, *speeds = states.T
        return np.stack([np.cos(first), np.sin(first), np.cos(second), np.sin(second), *speeds], axis=1)

    def step(self, states: Floats, actions: NDArray[Any]) -> tuple[Floats, Floats, Flags]:
        torque, tau = actions - 1.0, 0.2
        one = self._slope(states, torque)  # a step of Runge and Kutta
        two = self._slope(states + tau / 2 * one, torque)
        three = self._slope(states + tau / 2 * two, torque)
        four = self._slope(states + tau * three, torque)
        after = states + tau / 6 * (one + 2 * two + 2 * three + four)
        after[:, :2] = (after[:, :2] + np.pi) % (2 * np.pi) - np.pi
        after[:, 2:] = np.clip(after[:, 2:], [-4 * np.pi, -9 * np.pi], [4 * np.pi, 9 * np.pi])
        up = -np.cos(after[:, 0]) - np.cos(after[:, 0] + after[:, 1]) > 1.0
        return after, np.where(up, 0.0, -1.0), up

    def _slope(self, states: Floats, torque: Floats) -> Floats:
        """Links of length and mass 1, their centres in the middle, moments of inertia 1."""
        first, second, turn1, turn2 = states.T
        inertia = 3.5 + np.cos(second)  # 0.25 + (1 + 0.25 + cos) + 1 + 1
        coupling = 1.25 + 0.5 * np.cos(second)
        pull2 = 4.9 * np.sin(first + second)
        pull1 = -0.5 * (turn2**2 + 2 * turn2 * turn1) * np.sin(second) + 14.7 * np.sin(first) + pull2
        bend = torque + coupling / inertia * pull1 - 0.5 * turn1**2 * np.sin(second) - pull2
        speeding2 = bend / (1.25 - coupling**2 / inertia)
        speeding1 = -(coupling * speeding2 + pull1) / inertia
        return np.stack([turn1, turn2, speeding1, speeding2], axis=1)


class MountainCar:
    """Position and velocity; the push is continuous."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        return np.stack([rng.uniform(-0.6, -0.4, count), np.zeros(count)], axis=1)

    def observe(self, states: Floats) -> Floats:
        return states

    def step(self, states: Floats, actions: NDArray[Any]) -> tuple[Floats, Floats, Flags]:
        x, speed = states.T
        push = actions[:, 0].astype(np.float64)
        speed = np.clip(speed + 0.0015 * np.clip(push, -1, 1) - 0.0025 * np.cos(3 * x), -0.07, 0.07)
        x = np.clip(x + speed, -1.2, 0.6)
        speed = np.where((x == -1.2) & (speed < 0), 0.0, speed)
        there = (x >= 0.45) & (speed >= 0)
        return np.stack([x, speed], axis=1), np.where(there, 100.0, 0.0) - 0.1 * push**2, there


class Pendulum:
    """Angle from upright, and its velocity."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        return rng.uniform([-np.pi, -1.0], [np.pi, 1.0], (count, 2))

    def observe(self, states: Floats) -> Floats:
        angle, turn = states.T
        return np.stack([np.cos(angle), np.sin(angle), turn], axis=1)

    def step(self, states: Floats, actions: NDArray[Any]) -> tuple[Floats, Floats, Flags]:
        angle, turn = states.T
        torque = np.clip(actions[:, 0].astype(np.float64), -2, 2)
        cost = ((angle + np.pi) % (2 * np.pi) - np.pi) ** 2 + 0.1 * turn**2 + 0.001 * torque**2
        turn = np.clip(turn + 0.05 * (15 * np.sin(angle) + 3 * torque), -8, 8)
        return np.stack([angle + 0.05 * turn, turn], axis=1), -cost, np.zeros(len(states), bool)
