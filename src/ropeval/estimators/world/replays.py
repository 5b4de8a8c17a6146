"""The log checks the simulator: logged episodes, replayed with their own actions, open loop from their first states.

Every member has learned from a resample of the episodes, so each episode is replayed by the members that have not seen
it, and their mean prediction is taken at every step. Only where all members have seen all episodes are these asked.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.streaming import take
from ropeval.estimators.world.network import mean_prediction, predict
from ropeval.estimators.world.rollouts import Simulator, next_state
from ropeval.learning.engine import Run

REPLAYED = 64  # episodes
STEPS = (1, 10, 50, 200)


class Replay(NamedTuple):
    """Sums of rewards over the first steps of logged episodes: what was logged, what the simulator says."""

    steps: int
    episodes: int
    logged: float  # mean
    predicted: float
    logged_std: float  # over episodes
    error: float  # mean |predicted − logged|
    held_out: bool  # whether they were replayed by members that had not seen them


def replay_log(world: Simulator, dataset: Dataset, run: Run) -> tuple[Replay, ...]:
    lengths = np.diff(dataset.starts)
    asked, held_out = members_asked(run, dataset.num_episodes, np.asarray(world.weights) > 0)
    found = []
    for steps in STEPS:
        episodes = np.flatnonzero((lengths >= steps) & asked.any(axis=0))
        episodes = episodes[:: max(1, len(episodes) // REPLAYED)][:REPLAYED]
        if len(episodes) < 2:
            break
        count = len(episodes)
        episodes = np.resize(episodes, REPLAYED)  # one shape, one program
        first = dataset.starts[:-1][episodes]
        rows = first[None] + np.arange(steps)[:, None]  # [T, K]
        actions = take(dataset.actions, rows.reshape(-1)).reshape(*rows.shape, *dataset.actions.shape[1:])
        weights = asked[:, episodes].T / asked[:, episodes].sum(axis=0)[:, None]  # [K, M]
        states = jnp.asarray(take(dataset.observations, first))
        predicted = np.asarray(_replay(world, states, jnp.asarray(actions), jnp.asarray(weights, jnp.float32)))
        logged = dataset.rewards[rows].sum(axis=0, dtype=np.float64)
        found.append(
            Replay(
                steps, count, float(logged[:count].mean()), float(predicted[:count].mean()),
                float(logged[:count].std()), float(np.abs(predicted - logged)[:count].mean()), held_out,
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


@jax.jit
def _replay(world: Simulator, states: Array, actions: Array, weights: Array) -> Array:
    """[K] sums of rewards for first states [K, S], actions [T, K, …] and each episode's weights of members [K, M]."""
    units = world.units

    def one(state: Array, action: Array, weights: Array, key: Array) -> tuple[Array, Array]:
        x = units.pair(state, action)
        found = mean_prediction(jax.vmap(lambda net: predict(net, units, x))(world.nets), weights)
        reward = units.reward_mean + units.reward_std * found.reward
        return next_state(units, world.noise[-1], key, state, found), jnp.clip(
            reward, units.reward_low, units.reward_high
        )

    def step(states: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        time, actions = given
        return jax.vmap(one)(states, actions, weights, jax.random.split(jax.random.key(time), len(states)))

    _, rewards = jax.lax.scan(step, states, (jnp.arange(len(actions)), actions))
    return rewards.sum(axis=0)
