"""Seven worlds of people, on which choices may be made: their truth has been looked at (see `__init__.py`).

pool    how many clerks to open for a line that grows and shrinks with the hour
stock   two goods that spoil, ordered a day ahead
ward    eight vital signs, six treatments; only who lives at the end counts
bids    how much to bid while the budget lasts
feed    eight kinds of posts; who is bored leaves
loan    one price for one customer; one step, and a continuous choice
pig     a game of dice: roll or hold, to a hundred in few turns
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.strangers.task import Act, Floats, clipped
from benchmarks.strangers.world import About, Generator, Step, World, now_and_then
from numpy.typing import NDArray


class Pool:
    about = About(steps=72, gamma=0.98, horizon=72, episodes=250, lives=6000, seen=3)
    policies: Mapping[str, Act] = {  # line, clerks open, hour; one to four clerks
        "by line": lambda o: np.clip(o[:, 0] // 4, 0, 3).astype(int),
        "by hour": lambda o: np.where((o[:, 2] > 8) & (o[:, 2] < 17), 2, 0),
        "all": lambda o: np.full(len(o), 3),
        "slow to change": lambda o: np.where(o[:, 0] > 10, 3, np.where(o[:, 0] < 3, 0, o[:, 1] - 1)).astype(int),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([rng.poisson(3, n), rng.integers(1, 5, n), np.zeros(n)], axis=1).astype(float)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        line, clerks, hour = state.T
        opened = action + 1
        come = rng.poisson(1.0 + 4.0 * np.maximum(np.sin((hour - 6) / 12 * np.pi), 0))
        served = rng.binomial(2 * opened, 0.75)
        left = rng.binomial(np.maximum(line - served, 0).astype(int), 0.05)
        line = np.clip(line + come - served - left, 0, 60)
        reward = np.minimum(served, line + 1) * 0.5 - 0.9 * opened - 0.1 * line - 2.0 * left - 0.4 * (opened > clerks)
        return np.stack([line, opened, (hour + 1) % 24], axis=1), reward, np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.3, self.policies["by hour"](state), 4, rng)


class Stock:
    about = About(steps=60, gamma=0.98, horizon=None, episodes=300, lives=6000, seen=5)
    policies: Mapping[str, Act] = {  # of two goods: on the shelf, on the way; the weekday
        "up to": lambda o: np.clip((14, 10) - o[:, :2] - o[:, 2:4], 0, 20),
        "up to more": lambda o: np.clip((22, 16) - o[:, :2] - o[:, 2:4], 0, 20),
        "constant": lambda o: np.tile((5.0, 3.0), (len(o), 1)),
        "for the weekend": lambda o: np.clip(np.where(o[:, 4:] >= 4, (22, 16), (11, 8)) - o[:, :2] - o[:, 2:4], 0, 20),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.concatenate([rng.poisson(6, (n, 2)), np.zeros((n, 2)), rng.integers(0, 7, (n, 1))], axis=1).astype(
            float
        )

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        shelf, coming, day = state[:, :2], state[:, 2:4], state[:, 4:]
        ordered = np.clip(np.round(action), 0, 20)
        wanted = rng.poisson(np.where(day >= 5, 1.8, 1.0) * (5.0, 3.0))
        sold = np.minimum(shelf, wanted)
        spoiled = rng.binomial((shelf - sold).astype(int), 0.15)
        reward = (sold * (2.0, 3.0) - 0.3 * (wanted - sold) - 0.1 * shelf - ordered * (1.0, 1.4)).sum(axis=1)
        after = np.concatenate([np.minimum(shelf - sold - spoiled + coming, 40), ordered, (day + 1) % 7], axis=1)
        return after, reward, np.zeros(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return np.round(np.clip(self.policies["up to"](state) * rng.uniform(0.3, 1.7, (len(state), 2)), 0, 20))


class Ward:
    about = About(steps=24, gamma=0.99, horizon=24, episodes=800, lives=20_000, seen=8)
    policies: Mapping[str, Act]

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.course = 0.93 * np.linalg.qr(rng.normal(size=(8, 8)))[0] * 0.35 + 0.6 * np.eye(8)
        self.helps = rng.normal(0, 0.35, (6, 8))
        self.helps[0] = 0.0  # wait
        self.danger = rng.normal(0, 1, 8) / np.sqrt(8)
        self.policies = {
            "wait": lambda o: np.zeros(len(o), int),
            "the worst sign": lambda o: np.abs(o[:, :5]).argmax(axis=1) + 1,
            "by danger": lambda o: np.where(o @ self.danger > 0.4, (self.helps @ self.danger).argmin(), 0),
            "one step ahead": lambda o: self._ahead(o),
        }

    def _ahead(self, o: Floats) -> NDArray[Any]:
        after = (o @ self.course.T)[:, None] + self.helps * self._reach(o)[:, None, None]
        return np.asarray((np.maximum(after @ self.danger, 0) + 0.05 * (after**2).sum(axis=-1)).argmin(axis=1))

    def _reach(self, o: Floats) -> Floats:
        return 1.0 / (1.0 + 0.2 * (o**2).mean(axis=1))

    def begin(self, n: int, rng: Generator) -> Floats:
        return rng.normal(0.3 * self.danger * np.sqrt(8), 1.0, (n, 8))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        after = state @ self.course.T + self.helps[action] * self._reach(state)[:, None]
        after = np.clip(after + rng.normal(0, 0.35, state.shape), -6, 6)
        dies = rng.random(len(state)) < 0.15 / (1 + np.exp(-3.0 * (after @ self.danger - 1.5)))
        better = ~dies & (rng.random(len(state)) < 0.12 * ((after**2).mean(axis=1) < 0.5))
        return after, 1.0 * better - 1.0 * dies, dies | better

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.4, self.policies["by danger"](state), 6, rng)


class Bids:
    about = About(steps=48, gamma=1.0, horizon=48, episodes=500, lives=10_000, seen=4)
    policies: Mapping[str, Act] = {  # budget left, time left, how many look, what they bid lately
        "steady": lambda o: clipped(0, 1.2 * o[:, 0] / np.maximum(o[:, 1], 0.02), 3),
        "high": lambda o: np.full((len(o), 1), 1.8),
        "low": lambda o: np.full((len(o), 1), 0.6),
        "beats the others": lambda o: clipped(0, 1.15 * o[:, 3], 3),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack(
            [rng.uniform(0.5, 1.5, n), np.ones(n), rng.gamma(5, 0.2, n), rng.lognormal(-0.1, 0.2, n)], axis=1
        )

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        budget, time, crowd, others = state.T
        bid = np.clip(action.reshape(-1), 0, 3)
        wins = rng.binomial(np.round(20 * crowd).astype(int), 1 / (1 + np.exp(-6 * (bid - others))))
        wins = np.minimum(wins, np.floor(budget * 400 / np.maximum(0.5 * (bid + others), 0.1)))
        spent = wins * np.minimum(bid, 0.5 * (bid + others)) / 400
        bought = rng.binomial(wins.astype(int), 0.12)
        later = np.exp(0.85 * np.log(others) + rng.normal(0, 0.12, len(state)))
        crowd = np.clip(0.7 * crowd + 0.3 * rng.gamma(5, 0.2, len(state)), 0.1, 4)
        left = np.maximum(budget - spent, 0)
        return np.stack([left, time - 1 / 48, crowd, later], axis=1), bought.astype(float), left < 0.005

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return clipped(0, self.policies["steady"](state)[:, 0] * rng.uniform(0.6, 1.4, len(state)), 3)


class Feed:
    about = About(steps=60, gamma=0.98, horizon=None, episodes=700, lives=10_000, seen=9)
    policies: Mapping[str, Act] = {  # liking of eight kinds, how bored
        "the favourite": lambda o: o[:, :8].argmax(axis=1),
        "second best": lambda o: np.argsort(o[:, :8], axis=1)[:, -2],
        "favourite, or a change": lambda o: np.where(
            o[:, 8] > 0.5, np.argsort(o[:, :8], axis=1)[:, -3], o[:, :8].argmax(axis=1)
        ),
        "number three": lambda o: np.full(len(o), 3),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.concatenate([rng.normal(0, 1, (n, 8)), rng.uniform(0, 0.4, (n, 1))], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        everyone = np.arange(len(state))
        liking, bored = state[:, :8].copy(), state[:, 8]
        liked = liking[everyone, action]
        reads = rng.random(len(state)) < 1 / (1 + np.exp(-liked + bored))
        liking *= 0.98
        liking[everyone, action] += np.where(reads, 0.05, -0.15) - 0.2
        bored = np.clip(0.9 * bored + np.where(reads, 0.02, 0.18), 0, 2)
        leaves = rng.random(len(state)) < 0.01 + 0.12 * bored
        return np.column_stack([liking + rng.normal(0, 0.05, liking.shape), bored]), reads * 1.0, leaves

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return np.asarray((0.8 * state[:, :8] + rng.gumbel(0, 1, (len(state), 8))).argmax(axis=1))


class Loan:
    about = About(steps=1, gamma=0.0, horizon=None, episodes=15_000, lives=100_000, seen=6)
    policies: Mapping[str, Act] = {  # six facts; the rate
        "by risk": lambda o: clipped(0, 0.5 + 0.3 * o[:, 0], 1.5),
        "dear": lambda o: np.full((len(o), 1), 1.2),
        "cheap": lambda o: np.full((len(o), 1), 0.2),
        "by income": lambda o: clipped(0, 0.6 - 0.4 * o[:, 1] * (o[:, 2] > 0), 1.5),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return rng.normal(0, 1, (n, 6))

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        rate = np.clip(action.reshape(-1), 0, 1.5)
        takes = rng.random(len(state)) < 1 / (1 + np.exp(4 * (rate - 0.7 - 0.2 * state[:, 1] * state[:, 3])))
        fails = rng.random(len(state)) < 1 / (1 + np.exp(3.0 - state[:, 0] - 0.5 * np.maximum(state[:, 4], 0) - rate))
        return state, takes * np.where(fails, -2.0, rate), np.ones(len(state), bool)

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return clipped(0, 0.6 + 0.2 * state[:, 0] + rng.normal(0, 0.25, len(state)), 1.5)


class Pig:
    about = About(steps=60, gamma=1.0, horizon=60, episodes=600, lives=20_000, seen=3)
    policies: Mapping[str, Act] = {  # points kept, points of this turn, turns left (of ten); roll or hold
        "hold at 20": lambda o: (o[:, 1] >= 20).astype(int),
        "hold at 10": lambda o: (o[:, 1] >= 10).astype(int),
        "hold at 35": lambda o: (o[:, 1] >= 35).astype(int),
        "what is missing": lambda o: (o[:, 1] >= (100 - o[:, 0]) / np.maximum(o[:, 2], 1)).astype(int),
    }

    def begin(self, n: int, rng: Generator) -> Floats:
        return np.stack([np.zeros(n), np.zeros(n), np.full(n, 10.0)], axis=1)

    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step:
        kept, turn, left = state.T
        die = rng.integers(1, 7, len(state))
        hold, lost = action == 1, (action == 0) & (die == 1)
        kept = np.where(hold, np.minimum(kept + turn, 100), kept)
        turn = np.where(hold | lost, 0.0, turn + die)
        left = left - (hold | lost)
        over = (kept >= 100) | (left <= 0)
        return np.stack([kept, turn, left], axis=1), np.where(kept >= 100, 1.0, 0.0) * over, over

    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        return now_and_then(0.25, self.policies["hold at 20"](state), 2, rng)


PEOPLE: dict[str, type[World]] = {
    "pool": Pool, "stock": Stock, "ward": Ward, "bids": Bids, "feed": Feed, "loan": Loan, "pig": Pig,
}  # fmt: skip
