"""Seven worlds of things, on which choices may be made: their truth has been looked at (see `__init__.py`).

tank      two tanks in a row, hardly any noise; the second one's level is what counts
battery   buys and sells electricity whose price wanders around the hour's
wear      a machine wears in jumps: run it, oil it, renew it; it is off the floor when it breaks
maze      slides through two doors to a goal; nothing counts but reaching it, and not falling into the pit
hopper    one leg that pushes off only while it touches the ground, leaning as it goes
drone     flies to a pad in gusts that it does not see, and not into the mast
prey      hares and foxes; how hard to hunt each
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.strangers.task import Act, Floats, clipped
from benchmarks.strangers.world import About, Generator, Step, World, now_and_then
from numpy.typing import NDArray


class Tank:
    about = About(steps=80, gamma=0.98, horizon=80, episodes=200, lives=4000, seen=3)
    policies: Mapping[str, Act] = {  # first level, second level, level wanted
        "gentle": lambda o: clipped(0, 0.42 + 0.4 * (o[:, 2] - o[:, 1]), 1),
        "hard": lambda o: clipped(0, 0.42 + 3.0 * (o[:, 2] - o[:, 1]), 1),
        "looks ahead": lambda o: clipped(0, 0.42 + 1.5 * (o[:, 2] - o[:, 1]) - 0.8 * (o[:, 0] - o[:, 2]), 1),
        "constant": lambda o: np.full((len(o), 1), 0.45),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return rng.uniform((0.1, 0.1, 0.5), (1.0, 1.0, 1.2), (n, 3))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        first, second, wanted = state.T
        poured = np.clip(action.reshape(-1), 0, 1)
        for _ in range(5):
            over = 0.4 * np.sqrt(np.maximum(first, 0))
            out = 0.45 * np.sqrt(np.maximum(second, 0))
            first, second = np.clip(first + 0.1 * (poured - over), 0, 2), np.clip(second + 0.1 * (over - out), 0, 2)
        second = np.clip(second + rng.normal(0, 0.003, len(state)), 0, 2)
        reward = -abs(second - wanted) - 0.5 * (first > 1.8) - 0.05 * poured
        return np.stack([first, second, wanted], axis=1), reward, np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return clipped(0, self.policies["gentle"](state)[:, 0] + rng.normal(0, 0.2, len(state)), 1)


class Battery:
    about = About(steps=96, gamma=0.99, horizon=96, episodes=250, lives=6000, seen=4)
    policies: Mapping[str, Act] = {  # charge, price, sine and cosine of the hour
        "by price": lambda o: clipped(-1, (1.0 - o[:, 1]) * 2.0, 1),
        "greedy": lambda o: clipped(-1, (1.0 - o[:, 1]) * 20.0, 1),
        "by hour": lambda o: clipped(-1, 2.0 * o[:, 2], 1),
        "keeps half": lambda o: clipped(-1, 2.0 * (0.5 - o[:, 0]), 1),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.uniform(0, 1, n), rng.lognormal(0, 0.25, n), np.zeros(n), np.ones(n)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        charge, price, sine, cosine = state.T
        wanted = np.clip(action.reshape(-1), -1, 1) * 0.2
        moved = np.clip(charge + wanted, 0, 1) - charge
        paid = np.where(moved > 0, moved / 0.92, moved * 0.92) * price * 10
        worn = 0.3 * moved**2 * 10
        angle = np.arctan2(sine, cosine) + 2 * np.pi / 48
        usual = 1.0 - 0.35 * np.sin(angle)
        after = usual * (price / (1.0 - 0.35 * sine)) ** 0.8 * np.exp(rng.normal(0, 0.12, len(state)))
        return (
            np.stack([charge + moved, after, np.sin(angle), np.cos(angle)], axis=1),
            -paid - worn,
            np.zeros(len(state), bool),
        )

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return clipped(-1, 0.7 * (1 - state[:, 1]) + rng.normal(0, 0.5, len(state)), 1)


class Wear:
    about = About(steps=150, gamma=0.97, horizon=None, episodes=150, lives=6000, seen=3)
    policies: Mapping[str, Act] = {  # wear, heat, load; run, oil, renew
        "late": lambda o: np.where(o[:, 0] > 0.8, 2, np.where(o[:, 1] > 0.8, 1, 0)),
        "early": lambda o: np.where(o[:, 0] > 0.4, 2, np.where(o[:, 1] > 0.6, 1, 0)),
        "oils": lambda o: np.where(o[:, 0] > 0.9, 2, np.where(o[:, 1] > 0.3, 1, 0)),
        "never renews": lambda o: np.where(o[:, 1] > 0.6, 1, 0),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.uniform(0, 0.6, n), rng.uniform(0, 0.6, n), rng.gamma(4, 0.25, n)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        n = len(state)
        wear, heat, load = state.T
        jump = (rng.random(n) < 0.12 + 0.3 * heat) * rng.exponential(0.08 * load)
        worn = np.where(action == 2, 0.0, wear + np.where(action == 1, 0.3, 1.0) * jump)
        hot = np.clip(np.where(action == 0, heat + 0.08 * load, 0.4 * heat) + rng.normal(0, 0.02, n), 0, 1.2)
        later = np.clip(0.9 * load + 0.1 * rng.gamma(4, 0.25, n) + rng.normal(0, 0.05, n), 0.1, 3)
        broken = rng.random(n) < np.clip(worn - 0.7, 0, 1) ** 2
        reward = np.where(action == 0, load * (1.2 - wear), np.where(action == 1, 0.3 * load, -4.0)) - 15.0 * broken
        return np.stack([worn, hot, later], axis=1), reward, broken

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return np.where(
            rng.random(len(state)) < 0.2, rng.choice(3, len(state), p=(0.6, 0.3, 0.1)), self.policies["late"](state)
        )


class Maze:
    about = About(steps=100, gamma=0.97, horizon=None, episodes=400, lives=3000, seen=2)
    policies: Mapping[str, Act]

    def __init__(self) -> None:
        self.policies = {
            "through the doors": lambda o: self._towards(o, 1.0),
            "slowly": lambda o: self._towards(o, 0.4),
            "straight": lambda o: self._pull(o, np.tile((0.9, 0.9), (len(o), 1)), 1.0),
            "by the wall": lambda o: self._pull(o, np.where(o[:, :1] < 0.8, (0.95, 0.05), (0.9, 0.9)), 1.0),
        }

    def _towards(self, o: Floats, speed: float) -> NDArray[Any]:
        first, second = o[:, 0] < 0.33, o[:, 0] < 0.66
        goal = np.where(first[:, None], (0.38, 0.75), np.where(second[:, None], (0.7, 0.25), (0.9, 0.9)))
        return self._pull(o, goal, speed)

    def _pull(self, o: Floats, goal: Floats, speed: float) -> NDArray[Any]:
        way = goal - o
        return speed * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 0.15)

    def begin(self, n: int, rng: Generator) -> Floats:
        return rng.uniform((0.02, 0.02), (0.2, 0.4), (n, 2))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        move = 0.06 * np.clip(action, -1, 1) + rng.normal(0, 0.015, state.shape)
        x, y = state.T
        after = np.clip(state + move, 0, 1)
        for wall, door in ((0.33, 0.75), (0.66, 0.25)):
            crosses = (x < wall) != (after[:, 0] < wall)
            stopped = crosses & (abs(y - door) > 0.12)
            after[stopped, 0] = x[stopped]
        goal = np.linalg.norm(after - 0.9, axis=1) < 0.12
        pit = np.linalg.norm(after - (0.42, 0.45), axis=1) < 0.08
        return after, 1.0 * goal - 1.0 * pit, goal | pit

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        drawn = rng.uniform(-1, 1, (len(state), 2))
        wild = rng.random((len(state), 1)) < 0.35
        return np.where(wild, drawn, 0.8 * self._towards(state, 1.0))


class Hopper:
    about = About(steps=150, gamma=0.98, horizon=150, episodes=150, lives=1500, seen=5)
    policies: Mapping[str, Act] = {  # height, its speed, speed forward, lean, its speed; push, turn
        "upright": lambda o: _both(0.5 + 0 * o[:, 0], -2.0 * o[:, 3] - o[:, 4]),
        "forward": lambda o: _both(0.7 + 0 * o[:, 0], 2.0 * (0.15 - o[:, 3]) - o[:, 4]),
        "fast": lambda o: _both(1.0 + 0 * o[:, 0], 2.0 * (0.3 - o[:, 3]) - o[:, 4]),
        "limp": lambda o: _both(0.3 + 0 * o[:, 0], -0.5 * o[:, 3]),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.uniform(1.0, 1.1, n), *rng.normal(0, 0.05, (4, n))], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        height, rise, ahead, lean, turning = state.T
        push, turn = np.clip(action, -1, 1).T
        for _ in range(10):
            touches = height < 1.0
            force = touches * np.maximum(120.0 * (1.0 - height) - 2.0 * rise + 18.0 * push, 0.0)
            rise = rise + 0.01 * (force * np.cos(lean) - 9.8)
            ahead = ahead + 0.01 * (force * np.sin(lean) - np.where(touches, 2.0, 0.1) * ahead)
            turning = turning + 0.01 * (6.0 * turn + 3.0 * np.sin(lean) * touches - 0.5 * turning)
            height, lean = height + 0.01 * rise, lean + 0.01 * turning
        fallen = (height < 0.5) | (abs(lean) > 0.8)
        reward = 1.0 + ahead - 0.1 * (push**2 + turn**2)
        return np.stack([height, rise, ahead, lean, turning], axis=1), reward, fallen

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        half = len(state) // 2
        usual = np.concatenate([self.policies["upright"](state[:half]), self.policies["forward"](state[half:])])
        return np.clip(usual + rng.normal(0, 0.5, usual.shape), -1, 1)


def _both(push: Floats, turn: Floats) -> NDArray[Any]:
    return np.clip(np.stack([push, turn], axis=1), -1, 1)


class Drone:
    about = About(steps=120, gamma=0.99, horizon=None, episodes=200, lives=2000, seen=4)
    policies: Mapping[str, Act]

    def __init__(self) -> None:
        self.policies = {
            "careful": lambda o: self._fly(o, 0.6, 1.6, 0.8),
            "quick": lambda o: self._fly(o, 1.6, 1.8, 0.8),
            "straight": lambda o: self._fly(o, 0.8, 1.6, 0.0),
            "loose": lambda o: self._fly(o, 0.8, 0.7, 0.8),
        }

    def _fly(self, o: Floats, pull: float, drag: float, around: float) -> NDArray[Any]:
        """To the pad at the origin; `around` pushes away from the mast at (2, 0)."""
        away = o[:, :2] - (2.0, 0.0)
        far = np.linalg.norm(away, axis=1, keepdims=True)
        side = away[:, ::-1] * (-1.0, 1.0)  # across the way to the mast
        return np.clip(-pull * o[:, :2] - drag * o[:, 2:4] + around * (away + side) / (far**3 + 0.1), -1, 1)

    def begin(self, n: int, rng: Generator) -> Floats:
        place = np.stack([rng.uniform(3.0, 4.5, n), rng.uniform(-1.0, 1.0, n)], axis=1)
        return np.concatenate([place, rng.normal(0, 0.1, (n, 2)), np.zeros((n, 2))], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        place, speed, gust = state[:, :2], state[:, 2:4], state[:, 4:]
        gust = 0.7 * gust + rng.normal(0, 0.15, gust.shape)
        speed = speed + 0.1 * (1.5 * np.clip(action, -1, 1) + gust - 0.1 * speed * abs(speed))
        place = place + 0.1 * speed
        there = (np.linalg.norm(place, axis=1) < 0.3) & (np.linalg.norm(speed, axis=1) < 0.6)
        struck = np.linalg.norm(place - (2.0, 0.0), axis=1) < 0.35
        reward = 10.0 * there - 10.0 * struck - 0.05 - 0.02 * (action**2).sum(axis=1)
        return np.concatenate([place, speed, gust], axis=1), reward, there | struck

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return np.clip(self._fly(state[:, :4], 0.8, 1.2, 0.8) + rng.normal(0, 0.6, (len(state), 2)), -1, 1)


class Prey:
    about = About(steps=100, gamma=0.98, horizon=100, episodes=200, lives=4000, seen=2)
    policies: Mapping[str, Act] = {  # hares, foxes; nothing, hares, foxes, both
        "hares when many": lambda o: np.where(o[:, 0] > 50, 1, 0),
        "both": lambda o: np.where((o[:, 0] > 40) & (o[:, 1] > 15), 3, np.where(o[:, 0] > 40, 1, 0)),
        "foxes": lambda o: np.where(o[:, 1] > 10, 2, 0),
        "always hares": lambda o: np.ones(len(o), int),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.lognormal(3.7, 0.4, n), rng.lognormal(2.5, 0.4, n)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        hares, foxes = state.T
        shot, trapped = 0.12 * np.isin(action, (1, 3)), 0.2 * np.isin(action, (2, 3))
        caught = shot * hares
        hares, foxes = hares - caught, foxes * (1 - trapped)
        eaten = 0.012 * hares * foxes / (1 + 0.01 * hares)
        more = 0.3 * hares * (1 - hares / 150)
        hares = np.maximum((hares + more - eaten) * np.exp(rng.normal(0, 0.08, len(state))), 0.5)
        foxes = np.maximum((foxes + 0.3 * eaten - 0.12 * foxes) * np.exp(rng.normal(0, 0.08, len(state))), 0.5)
        return np.stack([hares, foxes], axis=1), caught - 2.0 * (trapped > 0) + 0.05 * foxes, np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.35, self.policies["hares when many"](state), 4, rng)


THINGS: dict[str, type[World]] = {
    "tank": Tank, "battery": Battery, "wear": Wear, "maze": Maze, "hopper": Hopper, "drone": Drone, "prey": Prey,
}  # fmt: skip
