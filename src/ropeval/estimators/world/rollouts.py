"""Living in the learned simulator under a policy.

    s₀ from the log,   a_t ~ π_e(s_t),   s_{t+1} = s_t + Δ̂(s_t, a_t) (+ noise where the log shows noise),
    c₀ = 1,  c_{t+1} = c_t·(1 − d̂(s_t, a_t)):   a rollout does not end at random, it goes on with the weight c

Two kinds at once. *Joint* rollouts take the mean of all members' predictions at every step: their errors cancel step
by step, and this is the estimate. *Own* rollouts stay inside one member's network each: how far they lie apart says
what the log leaves open. States stay within the logged range and a margin, rewards within the logged range.

A policy that is arithmetic over arrays is compiled into the program; any other is asked step by step, on the host.
Both see the same states and the same noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.estimators.world.network import Prediction, disagreement, mean_prediction, predict
from ropeval.estimators.world.noise import Noise, draw, features
from ropeval.estimators.world.units import Units
from ropeval.policies import Policy
from ropeval.policies.policy import draw_actions
from ropeval.runtime import RUNS_OFTEN

Doubles = NDArray[np.float64]
BEYOND = 5.0  # members may agree where none has been: an action a whole range outside the logged ones counts as this
CHUNK = 32  # steps of a compiled program, after which progress is told
BLOCK = 512  # states of a group whose V_b is asked at a time
GONE = 1e-4  # where no rollout weighs more than this, all are over


class Simulator(NamedTuple):
    """What rollouts need of a prepared world; arrays, so that one compiled program serves all."""

    nets: Any  # [M] networks
    values: Any  # [M] networks of V_b
    weights: Array  # [M] of the members in joint predictions, sum 1
    units: Units
    usual: Array  # [3] disagreement below which 99 % of the logged rows lie
    noise: Noise  # residuals to draw from, by where a step is
    value_mean: Array  # [] and the scale and range of the log's returns
    value_std: Array
    value_low: Array
    value_high: Array
    pictured: Array  # [k] columns whose way along the rollouts is kept


class Moment(NamedTuple):
    """What one step of all rollouts shows. Joint rollouts are the last group: [M + 1, R]."""

    reward: Array  # [M + 1, R]
    weight: Array  # [M + 1, R] c_t
    apart: Array  # [R] disagreement along the joint rollouts, in units of the usual; no less where actions are beyond
    strayed: Array  # [R] whether the joint rollouts' states lie outside all logged ones
    pictured: Array  # [R, k] columns of these states


class Walkers(NamedTuple):
    states: Array  # [M + 1, R, S]
    weight: Array  # [M + 1, R] c_t
    before: Array  # [M + 1, R, S] where they were a step ago


def advance(world: Simulator, walkers: Walkers, actions: Array, keys: Array) -> tuple[Walkers, Moment]:
    """One step of every rollout: actions [M + 1, R, A], or [M + 1, R] integers; keys [M + 1]."""
    units, states = world.units, walkers.states
    members = states.shape[0] - 1
    x = jax.vmap(jax.vmap(units.pair))(states, actions)  # [M + 1, R, X]
    one_net = lambda net, rows: jax.vmap(partial(predict, net, units))(rows)  # noqa: E731
    own = jax.vmap(one_net)(world.nets, x[:members])  # [M, R, …] each in its own network
    every = jax.vmap(one_net, in_axes=(0, None))(world.nets, x[members])  # [M, R, …] all of them on the joint states
    joint = jax.vmap(mean_prediction, in_axes=(1, None))(every, world.weights)  # [R, …]
    apart = jax.vmap(disagreement, in_axes=(1, None))(every, world.weights)  # [R, 3]
    found: Prediction = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), own, joint)  # [M + 1, R, …]
    draws = jax.vmap(lambda key: jax.random.split(key, states.shape[1]))(keys)
    group = jax.vmap(partial(next_state, units), in_axes=(None, 0, 0, 0, 0))
    following = jax.vmap(group)(world.noise, draws, states, x, found)
    reward = units.reward_mean + units.reward_std * found.reward
    moment = Moment(
        jnp.clip(reward, units.reward_low, units.reward_high),
        walkers.weight,
        jnp.maximum((apart / world.usual[None]).max(axis=-1), BEYOND * jax.vmap(units.beyond)(actions[members])),
        jax.vmap(units.strayed)(states[members]),
        states[members][:, world.pictured],
    )
    return Walkers(following, walkers.weight * (1.0 - found.end), states), moment


def next_state(units: Units, noise: Noise, key: Array, state: Array, x: Array, found: Prediction) -> Array:
    """Of one rollout: [S]. Choices come first, since noise may go along with them; `noise` of one group."""
    following = state
    for place, (columns_of_choice, chances) in enumerate(zip(units.chosen, found.chances, strict=True)):
        drawn = jax.random.categorical(jax.random.fold_in(key, place + 1), jnp.log(chances + 1e-12))
        following = following.at[jnp.array(columns_of_choice)].set(units.taken(place, state, drawn))
    if units.moving:
        columns = jnp.array(units.moving)
        residual = draw(noise, key, features(units, x, following))
        moved = state[columns] + units.change_mean + units.change_std * (found.change + residual)
        moved = jnp.where(jnp.array(units.whole), jnp.round(moved), moved)
        following = following.at[columns].set(moved)
    return jnp.clip(following, units.state_low, units.state_high)


def log_values(world: Simulator, states: Array) -> Array:
    """V_b [M + 1, R] of states [M + 1, R, S]: each member's own, and the members' mean for the joint rollouts."""
    units = world.units
    x = (states - units.state_mean[None, None]) / units.state_std[None, None]
    members = states.shape[0] - 1
    own = jax.vmap(lambda net, rows: net(rows)[:, 0])(world.values, x[:members])  # [M, R]
    every = jax.vmap(lambda net: net(x[members])[:, 0])(world.values)  # [M, R]
    scaled = jnp.concatenate([own, (world.weights @ every)[None]])
    return jnp.clip(world.value_mean + world.value_std * scaled, world.value_low, world.value_high)


def first_log_values(world: Simulator, dataset: Dataset) -> NDArray[np.float32]:
    """[M + 1, E] V_b of the log's first states: each member's own, and their mean."""
    initial = dataset.initial_observations
    return values_in_blocks(world, np.broadcast_to(initial, (len(world.weights) + 1, *initial.shape)))


def values_in_blocks(world: Simulator, states: NDArray[np.float32]) -> NDArray[np.float32]:
    """`log_values`, in blocks of one shape: one program, however many states there are."""
    count = states.shape[1]
    found = []
    for start in range(0, count, BLOCK):
        filled = np.arange(start, start + BLOCK) % count
        found.append(np.asarray(_log_values(world, states[:, filled])))
    return np.concatenate(found, axis=1)[:, :count]


_log_values = jax.jit(log_values)


# --- with the policy inside the program, or on the host -------------------------------------------------------


def _step_keys(keys: Array, time: Array) -> tuple[Array, Array]:
    """[M + 1] each: what actions and what the simulator draw with at a time. No member's depend on the others'."""
    both = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, time)))(keys)
    return both[:, 0], both[:, 1]


@partial(jax.jit, static_argnums=4, compiler_options=RUNS_OFTEN)
def _compiled_chunk(
    world: Simulator, policy: Any, walkers: Walkers, keys: Array, length: int, start: Array
) -> tuple[Walkers, Moment]:
    def step(walkers: Walkers, time: Array) -> tuple[Walkers, Moment]:
        acting, moving = _step_keys(keys, time)
        actions = jax.vmap(partial(policy.act, policy.params))(walkers.states, acting)
        return advance(world, walkers, actions, moving)

    return jax.lax.scan(step, walkers, start + jnp.arange(length))


_advance = jax.jit(advance)


def _host_step(
    world: Simulator, policy: Policy, walkers: Walkers, keys: Array, time: int, generators: list[np.random.Generator]
) -> tuple[Walkers, Moment]:
    states = np.nan_to_num(np.asarray(walkers.states))  # policies are asked about numbers only
    drawn = [draw_actions(policy, own, 1, rng)[:, 0] for own, rng in zip(states, generators, strict=True)]
    return _advance(world, walkers, np.stack(drawn), _step_keys(keys, jnp.int32(time))[1])


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Means over the rollouts at every time: [T, M + 1], the joint ones last; and these one by one: [T, R]."""

    reward: Doubles  # [T, M + 1] E[γ^t c_t r_t]
    first_value: Doubles  # [M + 1] E[V_b(s_0)]
    last_value: Doubles  # [M + 1] E[γ^t c_t V_b(s_t)] at the last time
    discount: Doubles  # [T] γ^t
    joint_running: Doubles  # [T, R] c_t, the probability that it has not ended
    joint_reward: Doubles  # [T, R] r_t, and
    joint_last: Doubles  # [R] V_b(s_t) at the last time, if it has not
    apart: Doubles  # [T, R] disagreement, in units of the usual
    strayed: Doubles  # [T, R] 1 where the state lies outside all logged ones
    pictured: Doubles  # [T, R, k] some columns of the states

    def within(self, horizon: int) -> "Rollouts":
        """The first steps alone, after which nothing is worth anything."""
        in_time = ("reward", "discount", "joint_running", "joint_reward", "apart", "strayed", "pictured")
        cut = {name: getattr(self, name)[: horizon + 1] for name in in_time}
        nothing = {name: np.zeros_like(getattr(self, name)) for name in ("last_value", "joint_last")}
        return replace(self, **cut, **nothing)

    def lasting(self) -> "Rollouts":
        """Where γ looks beyond the last step: after it the policy goes on to earn, Σ_{t≥T} γ^t E[c_t r_t], what it did
        in the second half. The log's own value, which stands there otherwise, knows nothing of the policy."""
        last, gamma = len(self.discount) - 1, float(self.discount[1])
        late = np.arange(last // 2, last)
        alive = self.joint_running.mean(axis=1)
        stays = (alive[last] / alive[late[0]]) ** (1.0 / (last - late[0])) if alive[last] > 0.0 else 0.0  # per step
        earned = self.reward[late] / self.discount[late, None] * stays ** (last - late)[:, None]  # [t, M + 1]
        beyond = self.discount[-1] * earned.mean(axis=0) / (1.0 - gamma * stays)
        one_by_one = np.full_like(self.joint_last, beyond[-1] / max(self.discount[-1] * alive[last], GONE**2))
        return replace(self, last_value=beyond, joint_last=one_by_one)

    @property
    def joint_weight(self) -> Doubles:
        """[T, R] γ^t c_t"""
        return self.discount[:, None] * self.joint_running


def roll_out(
    world: Simulator,
    policy: Policy,
    initial: NDArray[np.float32],
    gamma: float,
    horizon: int,
    keys: Array,
    report: Callable[[float], None] | None = None,
) -> Rollouts:
    """Follow the policy from `initial` [M + 1, R, S] for at least `horizon` steps; keys [M + 1]."""
    states, weight = jax.device_put((initial, np.ones(initial.shape[:2], np.float32)))
    walkers = _placed(Walkers(states, weight, states), world)
    first = values_in_blocks(world, initial).astype(np.float64)
    compiled = policy.compiled()
    generators = [np.random.default_rng(numbers) for numbers in np.asarray(jax.random.key_data(keys))]
    moments: list[Any] = []
    length = min(CHUNK, horizon + 1) if compiled is not None else 1
    horizon = -(-(horizon + 1) // length) * length - 1  # whole chunks, one step more for the value of the last state
    for time in range(0, horizon + 1, length):
        if compiled is not None:
            walkers, seen = _compiled_chunk(world, compiled, walkers, keys, length, np.int32(time))
        else:
            walkers, seen = _host_step(world, policy, walkers, keys, time, generators)
            seen = jax.tree.map(lambda a: a[None], seen)
        moments.append(jax.device_get(seen))
        over = gamma ** (time + length) * float(np.asarray(walkers.weight).max()) < GONE
        if report:
            report((time + length) / (horizon + 1))
        if over:
            break
    rewards, running, apart, strayed, pictured = (
        _lasting(np.concatenate(part).astype(np.float64), horizon + 1) for part in zip(*moments, strict=True)
    )
    discount = gamma ** np.arange(horizon + 1, dtype=np.float64)
    weight = discount[:, None, None] * running  # [T, M + 1, R]
    last = np.where(running[-1] > 0.0, values_in_blocks(world, np.asarray(walkers.before)), 0.0).astype(np.float64)
    return Rollouts(
        (weight * rewards).mean(axis=-1), first.mean(axis=-1), (weight[-1] * last).mean(axis=-1), discount,
        running[:, -1], rewards[:, -1], last[-1], apart, strayed, pictured,
    )  # fmt: skip


def _placed(walkers: Walkers, world: Simulator) -> Walkers:
    """Where the program leaves them: for arguments that lie elsewhere the second chunk would be compiled anew."""
    place = jax.tree.leaves(world.nets)[0].sharding
    return jax.device_put(walkers, NamedSharding(place.mesh, P())) if isinstance(place, NamedSharding) else walkers


def _lasting(part: Doubles, steps: int) -> Doubles:
    """[T, …] with zeros for the steps after all was over."""
    return np.concatenate([part, np.zeros((steps - len(part), *part.shape[1:]))])
