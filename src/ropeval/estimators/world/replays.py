"""The log checks the simulator: logged episodes, replayed with their own actions, must earn what they earned.

Every member has learned from a resample of the episodes, so each episode is replayed by the members that have not seen
it, and their mean prediction is taken at every step. Only where all members have seen all episodes are these asked.

Where nothing is left to chance they are replayed open loop: the simulator is told the first state and all actions.
Where something is, an action answers to what happened in the log and would not fit what happens in the simulator. So
there every step starts from the logged state, and only the sum over the steps is checked.

Open loop, a task that must be balanced falls by itself: the least error grows at every step, and no policy is there to
catch it. So each replay is done once more from first states that are moved a little. Over steps in which the two part,
a replay says nothing about how well the simulator has learned the task.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.arrays import AnyArray
from ropeval.data import Dataset
from ropeval.data.streaming import take
from ropeval.estimators.world.network import mean_prediction, predict
from ropeval.estimators.world.rollouts import Simulator, next_state
from ropeval.learning.engine import Run
from ropeval.runtime import RUNS_ONCE

REPLAYED = 64  # episodes
STEPS = (1, 10, 50, 200)
TOGETHER = 10  # steps of a compiled program
MOVED, PARTED = 0.01, 0.25  # standard deviations of a column: how far first states are moved, and what is too far then


Floats = NDArray[np.float32]


class Replay(NamedTuple):
    """Sums of rewards over the first steps of logged episodes: what was logged, what the simulator says."""

    steps: int
    episodes: int
    logged: float  # mean
    predicted: float
    logged_std: float  # over episodes
    error: float  # mean |predicted − logged|
    held_out: bool  # whether they were replayed by members that had not seen them
    open_loop: bool  # whether from their first states on, and not step by step
    steady: bool  # whether it would be much the same from first states that are moved a little


def replay_log(world: Simulator, dataset: Dataset, run: Run, open_loop: bool) -> tuple[Replay, ...]:
    lengths = np.diff(dataset.starts)
    asked, held_out = members_asked(run, dataset.num_episodes, np.asarray(world.weights) > 0)
    ended = dataset.terminations[np.maximum(dataset.starts[1:] - 1, 0)] & (lengths > 0)
    found = []
    for steps in STEPS:
        long = lengths >= steps
        episodes = np.flatnonzero((long | ended) & asked.any(axis=0))  # those alone that last would not be fair
        episodes = episodes[:: max(1, len(episodes) // REPLAYED)][:REPLAYED]
        if long[episodes].sum() < 2:
            break
        count = len(episodes)
        episodes = np.resize(episodes, REPLAYED)  # one shape, one program
        time, last = np.arange(steps)[:, None], lengths[episodes] - 1
        lived = (time <= last[None]).astype(np.float32)  # [T, K]
        rows = dataset.starts[:-1][episodes][None] + np.minimum(time, last[None])  # [T, K]
        states, actions = (
            take(column, rows.reshape(-1)).reshape(*rows.shape, *column.shape[1:])
            for column in (dataset.observations, dataset.actions)
        )
        weights = (asked[:, episodes].T / asked[:, episodes].sum(axis=0)[:, None]).astype(np.float32)  # [K, M]
        along = (states, actions, weights, np.bool_(open_loop))
        rewards, lived_through = replayed(world, states[0], *along)
        predicted = (rewards.astype(np.float64) * lived).sum(axis=0)
        logged = (dataset.rewards[rows] * lived).sum(axis=0, dtype=np.float64)
        std, sides = np.asarray(world.units.state_std), np.asarray(_sides(states[0].shape))
        _, moved = replayed(world, states[0] + np.float32(MOVED) * std[None] * sides, *along)
        steady = is_steady(lived_through[:, :count], moved[:, :count], std)
        found.append(
            Replay(
                steps, count, float(logged[:count].mean()), float(predicted[:count].mean()),
                float(logged[:count].std()), float(np.abs(predicted - logged)[:count].mean()), held_out, open_loop,
                steady,
            )
        )  # fmt: skip
    return tuple(found)


def members_asked(run: Run, episodes: int, sound: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], bool]:
    """[M, E] who replays which episode, and whether these are members that have not seen it; `sound` [M]."""
    if run.counts is not None:
        unseen = (run.counts == 0) & sound[:, None]
        if unseen.any(axis=0).sum() >= 2:
            return unseen, True
    return np.broadcast_to(sound[:, None], (len(sound), episodes)), False


def replayed(
    world: Simulator, first: Floats, logged: Floats, actions: AnyArray, weights: Floats, open_loop: np.bool_
) -> tuple[Floats, Floats]:
    """[T, K] rewards and [T, K, S] states from first states [K, S] on, along logged states [T, K, S] and actions
    [T, K, …], by each episode's members, weights [K, M]. A few steps at a time: one program for every T."""
    states, found = first, []
    for start in range(0, len(logged), TOGETHER):
        times = np.minimum(np.arange(start, start + TOGETHER), len(logged) - 1)  # what is too much is cut off below
        states, seen = _replay(world, states, np.int32(start), logged[times], actions[times], weights, open_loop)
        found.append(jax.device_get(seen))
    rewards, lived_through = (np.concatenate(part)[: len(logged)] for part in zip(*found, strict=True))
    return rewards, lived_through


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _replay(
    world: Simulator, first: Array, start: Array, logged: Array, actions: Array, weights: Array, open_loop: Array
) -> tuple[Array, tuple[Array, Array]]:
    """The last states, and the rewards and states of some steps from time `start` on."""
    units = world.units

    def one(state: Array, action: Array, weights: Array, key: Array) -> tuple[Array, Array]:
        x = units.pair(state, action)
        found = mean_prediction(jax.vmap(lambda net: predict(net, units, x))(world.nets), weights)
        reward = jnp.clip(units.reward_mean + units.reward_std * found.reward, units.reward_low, units.reward_high)
        return next_state(units, world.noise.of(-1), key, state, x, found), reward

    def step(states: Array, given: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        time, logged, actions = given
        states = jnp.where(open_loop, states, logged)
        keys = jax.random.split(jax.random.key(time), len(states))
        following, rewards = jax.vmap(one)(states, actions, weights, keys)
        return following, (rewards, states)

    return jax.lax.scan(step, first, (start + jnp.arange(len(actions)), logged, actions))


@partial(jax.jit, static_argnums=0)
def _sides(shape: tuple[int, ...]) -> Array:
    """−1 or 1."""
    return jax.random.rademacher(jax.random.key(0), shape, jnp.float32)


def is_steady(states: NDArray[np.float32], moved: NDArray[np.float32], std: NDArray[np.float32]) -> bool:
    """Whether most replays [T, K, S] stay near those whose first states were moved."""
    apart = np.sqrt(np.square((moved - states) / std).mean(axis=-1))  # [T, K]
    return bool((apart.max(axis=0) < PARTED).mean() > 0.5)  # what is not finite has parted
