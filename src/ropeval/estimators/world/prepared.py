"""The log side: everything that depends on the log alone, made once for all policies.

Networks and V_b are trained, every member on its own resample of the episodes. The episodes that a member has not
seen then tell what its predictions are worth: which changes are noise, how far members usually lie apart, and whether
logged episodes, replayed with their own actions, earn in the simulator what they earned in the log.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset, Transitions
from ropeval.estimators.world.fitting import BLOCK, Learn, fit_networks, rows_looked_at, unseen_rows
from ropeval.estimators.world.log_paths import LogPaths, important_columns, log_paths
from ropeval.estimators.world.log_returns import LogReturns, log_returns
from ropeval.estimators.world.memory import LEFT, Memory, foretold_by, rows_in_a_row
from ropeval.estimators.world.network import Prediction, Sizes, disagreement, make_value_learner, predict
from ropeval.estimators.world.replays import Replay, replay_log
from ropeval.estimators.world.reward_noise import RewardNoise, make_reward_noise
from ropeval.estimators.world.rollouts import Simulator, first_log_values
from ropeval.estimators.world.rows import world_rows
from ropeval.estimators.world.units import Units, make_units
from ropeval.learning.engine import Hyper, Learner, Run, Trained, first_chunk, train
from ropeval.runtime import RUNS_ONCE

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
LOG_VALUE = "log-value"  # the stage of V_b
VALUE_WIDTH = 256
USUAL = 0.99  # share of the logged rows on which members lie no further apart than is usual
LEAST_APART = np.array([1e-3, 1e-2, 1e-3], np.float32)  # changes, choices, reward: below, differences are rounding
NOISY = 0.05  # of a change's variance left unexplained on held-out rows, and
NOISE_OVER_ERROR = 3.0  # so many times what the members disagree about: then it is noise, and not the model's error
POOL = 4096  # residuals kept to draw noise from
FEWEST_PAIRS = 500  # of steps in a row, from which on it is asked whether surprises foretell each other


@dataclass(frozen=True, eq=False)
class World:
    simulator: Simulator
    trained: tuple[Trained, ...]
    good: NDArray[np.bool_]  # [M] members whose networks are sound
    sizes: Sizes
    longest: int  # steps of training that were tried
    noisy: tuple[int, ...]  # columns whose changes are drawn with noise
    reward_noise: RewardNoise | None  # where rewards scatter
    unexplained: float  # share of what happens on held-out rows that the simulator does not foresee
    replays: tuple[Replay, ...]
    paths: LogPaths  # what the log shows of what rollouts show
    memory: Memory
    first_values: Floats  # [M + 1, E] V_b of the log's first states

    @property
    def stochastic(self) -> bool:
        return bool(self.noisy or self.simulator.units.values)


def build(
    dataset: Dataset,
    gamma: float,
    sizes: Sizes,
    learning_rate: float,
    run: Run,
    horizon: int | None = None,
    shown: int = 1,
    settled: bool = True,
) -> World:
    """`horizon`: steps that count, None: all; `shown`: steps of the pictures; `settled`: the sizes are as given."""
    units = make_units(dataset)
    data, returns = world_rows(dataset, units), log_returns(dataset, gamma, horizon)
    hyper = {"learning_rate": run.spread("learning_rate", learning_rate)}
    networks = partial(fit_networks, data, dataset, units, sizes, hyper, settled=settled)
    log_value = partial(_fit_log_value, data, returns, sizes, hyper, dataset.observations.shape[1])

    def made(run: Run, learn: Learn = train) -> World:
        trained, chosen = networks(run=run, learn=learn, rehearsed=learn is not train)
        value_trained = log_value(run, learn)
        return _look(dataset, units, data, returns, trained, value_trained, chosen, sizes.steps, shown, run)

    def rehearsal(run: Run) -> World:
        with ThreadPoolExecutor(1, "compiling early, V_b") as beside:  # takes as long to compile as the simulator
            beside.submit(log_value, run, _begin)
            return made(run, _begin)

    if not data.streamed:  # reading such a log once more would take longer than compiling
        run.rehearse(rehearsal)
    return made(run)


def _begin(
    learner: Learner, data: Transitions, hyper: Hyper, steps: int, run: Run, stage: str | None = None
) -> Trained:
    """In the place of `train` in a rehearsal. The moving average has hardly left its beginning after one chunk, so the
    parameters themselves stand for it: they tell better which changes will turn out to be noise, and that decides which
    programs are needed."""
    begun = first_chunk(learner, data, hyper, steps, run, stage)
    learned = begun.state.learned
    return replace(begun, state=begun.state._replace(learned=learned._replace(target=learned.params)))


def _fit_log_value(
    data: Transitions, returns: LogReturns, sizes: Sizes, hyper: Hyper, states: int, run: Run, learn: Learn
) -> Trained:
    smaller = sizes._replace(steps=log_value_steps(sizes.steps), width=min(sizes.width, VALUE_WIDTH), norm=True)
    return learn(make_value_learner(smaller, states), returns.rows(data), hyper, smaller.steps, run, LOG_VALUE)


def _look(
    dataset: Dataset,
    units: Units,
    data: Transitions,
    returns: LogReturns,
    trained: Trained,
    value_trained: Trained,
    chosen: Sizes,
    longest: int,
    shown: int,
    run: Run,
) -> World:
    """At what was trained, by rows that members have not seen."""
    good = (trained.diverged_at < 0) & (value_trained.diverged_at < 0)
    weights = jnp.asarray(good / max(1, good.sum()), jnp.float32)
    nets = _sound(trained.state.target, good)
    units = jax.tree.map(jnp.asarray, units)
    look = _look_at_log(nets, weights, units, data, dataset, run)
    memory = _memory(nets, weights, units, data, dataset, run, look.noisy)
    simulator = Simulator(
        nets, _sound(value_trained.state.target, good), weights, units,
        jnp.asarray(look.usual), jnp.asarray(look.noise), *returns.scale, jnp.zeros(0, int),
    )  # fmt: skip
    columns = important_columns(simulator, dataset)
    simulator = simulator._replace(pictured=jnp.asarray(columns))
    noisy = tuple(column for column, is_ in zip(units.moving, look.noisy, strict=True) if is_)
    replays = replay_log(simulator, dataset, run, open_loop=not (noisy or units.values))
    paths = log_paths(dataset, columns, shown)
    return World(
        simulator, (trained, value_trained), good, chosen, longest, noisy, look.reward_noise,
        look.unexplained, replays, paths, memory, first_log_values(simulator, dataset),
    )  # fmt: skip


def log_value_steps(steps: int) -> int:
    """V_b is one number of a state, without bootstrapping: it takes less than the simulator."""
    return max(1, steps // 4)


def _sound(nets: Any, good: NDArray[np.bool_]) -> Any:
    """Networks of broken members with zeros for weights: they weigh nothing, and zero times not-a-number is none."""

    def mend(leaf: Array) -> Array:
        mask = jnp.asarray(good).reshape(-1, *([1] * (leaf.ndim - 1)))
        return jnp.where(mask, leaf, 0.0)

    return jax.tree.map(mend, nets)


# --- what members that have not seen a row say of it ----------------------------------------------------------


class Look(NamedTuple):
    usual: Floats  # [3]
    noise: Floats  # [M + 1, P, D] residuals of rows that a member has not seen, the joint prediction's last
    noisy: NDArray[np.bool_]  # [D]
    reward_noise: RewardNoise | None
    unexplained: float  # of the variance, 0–1


def _look_at_log(nets: Any, weights: Array, units: Units, data: Transitions, dataset: Dataset, run: Run) -> Look:
    rows = rows_looked_at(data.size)
    some = data.block(rows)
    unseen, share = _asked(weights, dataset, run, rows)
    apart, residual, variance, reward, missed = _compare(nets, weights, units, some.x, some.next_x[:, 0], share)
    usual = np.maximum(np.quantile(np.asarray(apart), USUAL, axis=0), LEAST_APART).astype(np.float32)
    goes_on = ~dataset.terminations[rows]
    rewards = _reward_noise(np.asarray(reward, np.float64), np.asarray(some.reward, np.float64), goes_on, units)
    silent = np.zeros((run.members + 1, 1, len(units.moving)), np.float32)
    of_reward = float(((np.asarray(reward)[:, 0] - np.asarray(some.reward)) ** 2).mean())
    if not goes_on.any():
        return Look(usual, silent, np.zeros(len(units.moving), bool), rewards, min(1.0, of_reward))
    left = (np.asarray(residual)[goes_on] ** 2).mean(axis=0)[: len(units.moving)]
    of_choices = _unforeseen(np.asarray(missed)[goes_on], np.asarray(some.next_x)[goes_on, 0, len(units.moving) :])
    state = np.minimum(1.0, [*left, *of_choices])
    unexplained = max(min(1.0, of_reward), float(state.mean()) if len(state) else 0.0)
    if not units.moving:
        return Look(usual, silent, np.zeros(0, bool), rewards, unexplained)
    noisy = (left > NOISY) & (left > NOISE_OVER_ERROR * np.asarray(variance)[goes_on].mean(axis=0))
    if not noisy.any():
        return Look(usual, silent, noisy, rewards, unexplained)
    drawn = np.flatnonzero(goes_on)[:: max(1, int(goes_on.sum()) // POOL)]
    own = np.asarray(_own_residuals(nets, units, some.x[drawn], some.next_x[drawn, 0]))  # [M, p, D]
    pools = [_pool(one[new] if new.any() else one, noisy) for one, new in zip(own, unseen[:, drawn], strict=True)]
    pools.append(_pool(np.asarray(residual)[drawn], noisy))
    return Look(usual, np.stack(pools), noisy, rewards, unexplained)


def _unforeseen(missed: Floats, numbers: Floats) -> list[float]:
    """Of every choice: squared errors of its chances [n, choices], as a share of those of how often each value comes.

    `numbers` [n, choices] says which value came.
    """
    found = []
    for errors, came in zip(missed.T, numbers.T, strict=False):  # without a choice there are no numbers
        often = np.unique(came, return_counts=True)[1] / len(came)
        found.append(float(errors.mean()) / max(1.0 - float((often**2).sum()), 1e-12))
    return found


def _asked(weights: Array, dataset: Dataset, run: Run, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Array]:
    """[M, n] which sound members have not seen a row; and by how much each is asked about it."""
    sound = np.asarray(weights)[:, None] > 0
    unseen = unseen_rows(dataset, run, rows) & sound
    asked = np.where(unseen.any(axis=0), unseen, sound)  # of a row that all have seen, all are asked
    return unseen, jnp.asarray(asked / np.maximum(1, asked.sum(axis=0)), jnp.float32)


def _memory(
    nets: Any, weights: Array, units: Units, data: Transitions, dataset: Dataset, run: Run, noisy: NDArray[np.bool_]
) -> Memory:
    rows, before = rows_in_a_row(dataset, len(rows_looked_at(data.size)))  # as many: one program for both
    if not noisy.any() or len(before) < FEWEST_PAIRS:
        return Memory()
    some = data.block(rows)
    found = _compare(nets, weights, units, some.x, some.next_x[:, 0], _asked(weights, dataset, run, rows)[1])
    residual = np.asarray(found[1], np.float64)
    surprise = residual[before + 1]
    correlation = np.abs(
        [np.corrcoef(*each)[0, 1] for each in zip(residual[before].T[noisy], surprise.T[noisy], strict=True)]
    )
    worst = int(np.argmax(correlation))
    by_surprises = Memory(float(correlation[worst]), units.moving[int(np.flatnonzero(noisy)[worst])])
    asked = np.flatnonzero(noisy & ((surprise**2).mean(axis=0) > LEFT))
    if not len(asked):
        return by_surprises
    pairs, rewards = np.asarray(some.x, np.float64), np.asarray(some.reward, np.float64)
    past, episode = (
        np.concatenate([pairs[before], rewards[before, None]], axis=1),
        dataset.starts.searchsorted(rows, "right"),
    )
    told = foretold_by(past, pairs[before + 1], surprise[:, asked], episode[before])
    most = int(np.argmax(told))
    return by_surprises._replace(foretold=float(told[most]), foretold_column=units.moving[int(asked[most])])


def _reward_noise(told: Doubles, logged: Doubles, goes_on: NDArray[np.bool_], units: Units) -> RewardNoise | None:
    """From standardised rewards [n] and what is told of them [n, 2]: the mean, and the members' variance around it."""
    left = float(((logged - told[:, 0]) ** 2).mean())
    if not left > NOISY or not left > NOISE_OVER_ERROR * float(told[:, 1].mean()):
        return None
    mean, std = float(units.reward_mean), float(units.reward_std)
    return make_reward_noise(mean + std * told[:, 0], mean + std * logged, goes_on)


def _pool(residual: Floats, noisy: NDArray[np.bool_]) -> Floats:
    """[P, D] residuals [n, D] to draw from: their mean is the model's error, the rest is noise where there is any."""
    pool = np.resize(residual, (POOL, len(noisy)))  # some come once more than others: so the mean is that of the pool
    return ((pool - pool.mean(axis=0)) * noisy).astype(np.float32)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _own_residuals(nets: Any, units: Units, x: Array, outcome: Array) -> Array:
    one = lambda net: jax.vmap(lambda row: predict(net, units, row).change)(x)  # noqa: E731
    return outcome[None, :, : len(units.moving)] - jax.vmap(one)(nets)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _compare(nets: Any, weights: Array, units: Units, x: Array, outcome: Array, asked: Array) -> tuple[Array, ...]:
    """Of rows [n]: disagreement [n, 3], residual and members' variance of the changes [n, D] (D = 0: one zero), and
    of the reward its mean and the members' variance [n, 2]; of the choices' chances the squared error [n, choices].

    `asked` [M, n]: weights of the members whose mean the residual is taken from.
    """

    def one(given: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        x, outcome, own = given
        every: Prediction = jax.vmap(lambda net: predict(net, units, x))(nets)
        reward = jnp.stack([own @ every.reward, weights @ (every.reward - weights @ every.reward) ** 2])
        missed = _missed([own @ each for each in every.chances], outcome[len(units.moving) :])
        if not units.moving:
            return disagreement(every, weights), jnp.zeros(1), jnp.zeros(1), reward, missed
        change = own @ every.change
        spread = weights @ (every.change - (weights @ every.change)[None]) ** 2
        return disagreement(every, weights), outcome[: len(units.moving)] - change, spread, reward, missed

    return jax.lax.map(one, (x, outcome, asked.T), batch_size=BLOCK)


def _missed(chances: Sequence[Array], numbers: Array) -> Array:
    """[choices] squared errors of the chances of the values, given which of them came (no choice: one zero)."""
    each = [
        ((jax.nn.one_hot(came, len(given)) - given) ** 2).sum()
        for given, came in zip(chances, numbers.astype(int), strict=True)
    ]
    return jnp.stack(each) if each else jnp.zeros(1)
