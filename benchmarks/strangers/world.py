"""What a world of a few lines is, and how it becomes a task: many episodes side by side."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from benchmarks.strangers.task import Act, Floats, Task
from numpy.typing import NDArray

Generator = np.random.Generator
LEFT = 1e-4  # of what a reward is worth: a true value looks no further
Step = tuple[Floats, Floats, NDArray[np.bool_]]  # state, reward, whether it is over


class About(NamedTuple):
    steps: int  # of the log's episodes, at most
    gamma: float
    horizon: int | None
    episodes: int  # of the log
    lives: int  # for a true value
    seen: int  # columns of the state that are observed, the first ones


class World(Protocol):
    about: About
    policies: Mapping[str, Act]

    def begin(self, n: int, rng: Generator) -> Floats: ...
    def step(self, state: Floats, action: NDArray[Any], rng: Generator) -> Step: ...
    def behave(self, state: Floats, last: NDArray[Any] | None, rng: Generator) -> NDArray[Any]:
        """What the log's policy does, `last` being what it did a step before."""


def make(world: World, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    log = _log(world, rng)
    truth = {name: float(_returns(world, act, rng).mean()) for name, act in world.policies.items()}
    return Task(world.about.gamma, world.about.horizon, world.policies, log, truth)


def _log(world: World, rng: Generator) -> dict[str, NDArray[Any]]:
    state, last = world.begin(world.about.episodes, rng), None
    alive, rows = np.ones(world.about.episodes, bool), []
    for time in range(world.about.steps):
        action = last = world.behave(state, last, rng)
        after, reward, over = world.step(state, action, rng)
        cut = ~over & (time == world.about.steps - 1)
        episode = np.arange(world.about.episodes)
        rows.append([column[alive] for column in (episode, state[:, : world.about.seen], action, reward, over, cut)])
        state, alive = after, alive & ~over
    episode, observations, actions, rewards, terminations, truncations = map(np.concatenate, zip(*rows, strict=True))
    order = np.argsort(episode, kind="stable")
    return {
        "observations": observations[order].astype(np.float32),
        "actions": actions[order],
        "rewards": rewards[order],
        "terminations": terminations[order],
        "truncations": truncations[order],
    }


def _returns(world: World, act: Act, rng: Generator) -> Floats:
    state, alive, total = (
        world.begin(world.about.lives, rng),
        np.ones(world.about.lives, bool),
        np.zeros(world.about.lives),
    )
    for time in range(_lasting(world.about)):
        action = act(state[:, : world.about.seen].astype(np.float32))
        state, reward, over = world.step(state, action, rng)
        total += np.where(alive, world.about.gamma**time * reward, 0.0)
        alive &= ~over
    return total


def _lasting(about: About) -> int:
    """Steps after which nothing is worth anything. A log may be cut off before."""
    return about.horizon or (1 if about.gamma == 0.0 else math.ceil(math.log(LEFT) / math.log(about.gamma)))


def now_and_then(share: float, usual: NDArray[Any], choices: int, rng: Generator) -> NDArray[Any]:
    return np.where(rng.random(len(usual)) < share, rng.integers(0, choices, len(usual)), usual).astype(int)
