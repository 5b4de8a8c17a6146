"""Six worlds of a few lines each.

hiv       six states over six orders of magnitude, drugs on or off (the equations of Adams et al., 2004)
signal    a crossing: two queues, which one has green; costs to switch
heating   a house by day and night; the log's own thermostat remembers what it did last
glucose   insulin after meals at random hours; who gets too little sugar is lost
fishery   stocks that multiply by chance, prices that wander
shop      one of twenty offers to whom twelve numbers describe; one step
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.strangers.task import Act, Floats, clipped
from benchmarks.strangers.world import About, Generator, Step, World, now_and_then
from numpy.typing import NDArray


class Hiv:
    about = About(steps=120, gamma=0.98, horizon=120, episodes=150, lives=300, seen=6)
    policies: Mapping[str, Act] = {
        "always": lambda o: np.full(len(o), 3),
        "never": lambda o: np.zeros(len(o), int),
        "when many": lambda o: np.where(o[:, 4] > 2e4, 3, 0),
        "one or both": lambda o: np.where(o[:, 4] > 2e3, 3, 1),
        "one": lambda o: np.ones(len(o), int),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        ill = np.array([163573.0, 5.0, 11945.0, 46.0, 63919.0, 24.0])
        return ill * np.exp(rng.normal(0.0, 0.2, (n, 6)))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        first, second = np.where(np.isin(action, (1, 3)), 0.7, 0.0), np.where(np.isin(action, (2, 3)), 0.3, 0.0)
        for _ in range(250):  # five days, by the midpoint rule
            middle = state + 0.01 * self._slope(state, first, second)
            state = np.maximum(state + 0.02 * self._slope(middle, first, second), 1e-9)
        reward = 1e3 * state[:, 5] - 0.1 * state[:, 4] - 2e4 * first**2 - 2e3 * second**2
        return state, reward, np.zeros(len(state), bool)

    def _slope(self, state: Floats, first: Floats, second: Floats) -> Floats:
        t1, t2, i1, i2, virus, immune = state.T
        caught1, caught2 = 8e-7 * (1 - first) * virus * t1, 1e-4 * (1 - 0.34 * first) * virus * t2
        ill = i1 + i2
        return np.stack(
            [
                1e4 - 0.01 * t1 - caught1,
                31.98 - 0.01 * t2 - caught2,
                caught1 - 0.7 * i1 - 1e-5 * immune * i1,
                caught2 - 0.7 * i2 - 1e-5 * immune * i2,
                (1 - second) * 70.0 * ill - 13.0 * virus - caught1 - caught2,
                1.0 + 0.3 * ill / (ill + 100.0) * immune - 0.25 * ill / (ill + 500.0) * immune - 0.1 * immune,
            ],
            axis=1,
        )

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.4, self.policies["when many"](state), 4, rng)


class Signal:
    about = About(steps=200, gamma=0.97, horizon=None, episodes=100, lives=4000, seen=4)
    policies: Mapping[str, Act] = {  # queues, who has green, for how long
        "longest": lambda o: (o[:, 1] > o[:, 0]).astype(int),
        "much longer": lambda o: np.where(np.abs(o[:, 0] - o[:, 1]) > 4, o[:, 1] > o[:, 0], o[:, 2]).astype(int),
        "main road": lambda o: np.where(o[:, 1] > 12, 1, np.where(o[:, 0] > 2, 0, o[:, 2])).astype(int),
        "clockwork": lambda o: np.where(o[:, 3] >= 6, 1 - o[:, 2], o[:, 2]).astype(int),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([*rng.poisson(3, (2, n)), rng.integers(0, 2, n), np.zeros(n)], axis=1).astype(float)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        everyone, switched = np.arange(len(state)), action != state[:, 2]
        queues = state[:, :2] + rng.poisson((0.55, 0.3), (len(state), 2))
        served = np.where(switched, 0, rng.binomial(2, 0.8, len(state)))
        queues[everyone, action] = np.maximum(queues[everyone, action] - served, 0)
        queues = np.minimum(queues, 40)
        after = np.column_stack([queues, action, np.where(switched, 0, state[:, 3] + 1)])
        return after, -(queues.sum(axis=1) + 2.0 * switched), np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.25, self.policies["clockwork"](state), 2, rng)


class Heating:
    about = About(steps=96, gamma=0.99, horizon=96, episodes=200, lives=4000, seen=3)  # the day's weather is not seen
    policies: Mapping[str, Act] = {  # inside, outside, hour
        "steady": lambda o: clipped(0, (21 - o[:, 0]) * 0.4 + 0.3, 1),
        "by hour": lambda o: clipped(
            0, (np.where((o[:, 2] > 6.5) & (o[:, 2] < 22), 20.6, 17) - o[:, 0]) * 0.6 + 0.2, 1
        ),
        "cold": lambda o: clipped(0, (17 - o[:, 0]) * 0.5, 1),
        "hot": lambda o: clipped(0, (24 - o[:, 0]) * 0.5 + 0.3, 1),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        weather = rng.normal(5, 5, n)
        return np.stack([rng.normal(19, 1.5, n), weather, np.zeros(n), weather], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        inside, _, hour, weather = state.T
        power = np.clip(action.reshape(-1), 0, 1)
        outside = weather + 4 * np.sin((hour - 9) / 12 * np.pi) + rng.normal(0, 0.2, len(state))
        inside = inside + 0.06 * (outside - inside) + 1.6 * power + rng.normal(0, 0.1, len(state))
        awake = (hour > 7) & (hour < 22)
        felt = np.where(awake, np.maximum(abs(inside - 21) - 1, 0), np.maximum(abs(inside - 18) - 2, 0))
        price = np.where((hour > 16) & (hour < 20), 1.2, 0.6)
        after = np.stack([inside, outside, (hour + 0.25) % 24, weather], axis=1)
        return after, -(felt + price * power), np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        before = np.full(len(state), 0.4) if last is None else np.where(last[:, 0] > 0.4, 0.8, 0.0)
        power = np.where(state[:, 0] < 20, 0.8, np.where(state[:, 0] > 22, 0.0, before))
        return clipped(0, power + rng.normal(0, 0.15, len(state)), 1)


class Glucose:
    about = About(steps=60, gamma=0.99, horizon=60, episodes=300, lives=4000, seen=4)
    policies: Mapping[str, Act] = {  # glucose, insulin on board, meal, hour
        "careful": lambda o: clipped(0, (o[:, 0] - 150) / 30, 6),
        "usual": lambda o: clipped(0, (o[:, 0] - 120) / 20 + o[:, 2] / 12, 10),
        "strong": lambda o: clipped(0, (o[:, 0] - 100) / 10 + o[:, 2] / 8, 10),
        "none": lambda o: np.zeros((len(o), 1)),
        "on board": lambda o: clipped(0, (o[:, 0] - 120) / 20 + o[:, 2] / 12 - 0.4 * o[:, 1], 10),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.normal(140, 30, n), rng.gamma(2, 1, n), np.zeros(n), rng.integers(0, 12, n)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        sugar, insulin, meal, hour = state.T
        eaten = np.isin(hour, (3, 7, 11)) * rng.gamma(6, 8, len(state)) * (rng.random(len(state)) < 0.85)
        meal, insulin = 0.6 * meal + eaten, 0.75 * insulin + np.clip(action.reshape(-1), 0, 10)
        sugar = sugar + 0.35 * meal - 0.9 * insulin * sugar / 140 + 0.08 * (110 - sugar) + rng.normal(0, 4, len(state))
        sugar = np.clip(sugar, 20, 600)
        lost = sugar < 35
        reward = np.where((sugar > 70) & (sugar < 180), 1.0, 0.0) - 20.0 * lost
        reward -= np.maximum(70 - sugar, 0) / 20 + np.maximum(sugar - 180, 0) / 150
        return np.stack([sugar, insulin, meal, (hour + 1) % 12], axis=1), reward, lost

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        dose = self.policies["usual"](state)[:, 0] * rng.uniform(0.5, 1.5, len(state))
        return np.where(rng.random(len(state)) < 0.3, 0.0, dose)[:, None]


class Fishery:
    about = About(steps=50, gamma=0.95, horizon=50, episodes=400, lives=4000, seen=2)
    policies: Mapping[str, Act] = {  # stock, price; the share to catch
        "a tenth": lambda o: np.full((len(o), 1), 0.1),
        "a third": lambda o: np.full((len(o), 1), 0.33),
        "leave 75": lambda o: clipped(0, 1 - 75 / np.maximum(o[:, 0], 1), 0.8),
        "by price": lambda o: clipped(0, 0.2 * o[:, 1] - 0.05, 0.5),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.lognormal(4, 0.6, n), rng.uniform(0.5, 2, n)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        stock, price = state.T
        caught = np.clip(action.reshape(-1), 0, 1) * stock
        left = stock - caught
        grown = left * np.exp(0.5 * (1 - left / 150) + rng.normal(0, 0.25, len(state)))
        later = np.exp(0.8 * np.log(price) + rng.normal(0, 0.2, len(state)))
        return np.stack([grown, later], axis=1), (price - 0.1) * caught, grown < 2

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return rng.beta(1.2, 5, len(state))[:, None]


class Shop:
    about = About(steps=1, gamma=0.0, horizon=None, episodes=20_000, lives=40_000, seen=12)

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.plain, self.bent = rng.normal(0, 1, (12, 20)), rng.normal(0, 0.5, (12, 20))
        self.policies: Mapping[str, Act] = {
            "best": lambda o: self._worth(o).argmax(axis=1),
            "nearly": lambda o: (o @ self.plain).argmax(axis=1),
            "one for all": lambda o: np.full(len(o), 7),
            "worst": lambda o: (o @ self.plain).argmin(axis=1),
        }

    def _worth(self, who: Floats) -> Floats:
        return who @ self.plain + np.maximum(who, 0) @ self.bent

    def begin(self, n: int, rng: Generator) -> Floats:
        return rng.normal(0, 1, (n, 12))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        liked = self._worth(state)[np.arange(len(state)), action] / 2.5 - 2
        return state, (rng.random(len(state)) < 1 / (1 + np.exp(-liked))).astype(float), np.ones(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        guess = 0.5 * state @ self.plain + 1.5 * rng.gumbel(0, 1, (len(state), 20))
        return np.asarray(guess.argmax(axis=1))


WORLDS: dict[str, type[World]] = {
    "hiv": Hiv, "signal": Signal, "heating": Heating, "glucose": Glucose, "fishery": Fishery, "shop": Shop,
}  # fmt: skip
