"""The log side: everything that depends on the log alone, made once for all policies.

Networks and V_b are trained, every member on its own resample of the episodes. The episodes that a member has not
seen then tell what its predictions are worth: which changes are noise, how far members usually lie apart, and whether
logged episodes, replayed with their own actions, earn in the simulator what they earned in the log.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset, Transitions
from ropeval.estimators.world.fitting import Learn, fit_networks
from ropeval.estimators.world.held_out import LEAST_APART, look_at_log, look_for_memory
from ropeval.estimators.world.log_paths import LogPaths, important_columns, log_paths
from ropeval.estimators.world.log_returns import LogReturns, log_returns
from ropeval.estimators.world.memory import Memory
from ropeval.estimators.world.network import Sizes, make_value_learner
from ropeval.estimators.world.noise import Noise, silent
from ropeval.estimators.world.replays import Replay, replay_log
from ropeval.estimators.world.reward_noise import RewardNoise
from ropeval.estimators.world.rollouts import Simulator, first_log_values
from ropeval.estimators.world.rows import world_rows
from ropeval.estimators.world.units import Units, make_units
from ropeval.learning.engine import Hyper, Learner, Run, Trained, train
from ropeval.learning.rehearse import blank, first_chunk

Floats = NDArray[np.float32]
LOG_VALUE = "log-value"  # the stage of V_b
VALUE_WIDTH = 256


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

    def unlearned(run: Run) -> World:
        (trained, _), value_trained = networks(run=run, learn=blank, settled=True), log_value(run, blank)
        return _unlearned(dataset, units, returns, trained, value_trained, sizes)

    def rehearsal(run: Run) -> World:
        with ThreadPoolExecutor(1, "compiling early, V_b") as beside:  # takes as long to compile as the simulator
            beside.submit(log_value, run, _begin)
            return made(run, _begin)

    if not data.streamed:  # reading such a log once more would take longer than compiling
        run.rehearse(unlearned)
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
    weights, units = jax.device_put(((good / max(1, good.sum())).astype(np.float32), units))
    nets = _sound(trained.state.target, good)
    look = look_at_log(nets, weights, units, data, dataset, run)
    memory = look_for_memory(nets, weights, units, data, dataset, run, look.noisy)
    values = _sound(value_trained.state.target, good)
    simulator, columns = _simulator(nets, values, weights, units, look.usual, look.noise, returns, dataset)
    noisy = tuple(column for column, is_ in zip(units.moving, look.noisy, strict=True) if is_)
    replays = replay_log(simulator, dataset, run, open_loop=not (noisy or units.values))
    paths = log_paths(dataset, columns, shown)
    return World(
        simulator, (trained, value_trained), good, chosen, longest, noisy, look.reward_noise,
        look.unexplained, replays, paths, memory, first_log_values(simulator, dataset),
    )  # fmt: skip


def _simulator(
    nets: Any,
    values: Any,
    weights: Array,
    units: Units,
    usual: Floats,
    noise: Noise,
    returns: LogReturns,
    dataset: Dataset,
) -> tuple[Simulator, NDArray[np.int64]]:
    """And the columns whose way it keeps."""
    numbers = jax.device_put((usual, noise, *returns.scale, np.zeros(0, np.int32)))
    simulator = Simulator(nets, values, weights, units, *numbers)
    columns = important_columns(simulator, dataset)
    return simulator._replace(pictured=jax.device_put(columns)), columns


def _unlearned(
    dataset: Dataset, units: Units, returns: LogReturns, trained: Trained, value_trained: Trained, sizes: Sizes
) -> World:
    """A world whose networks say nothing. The rollouts' program, which takes longest to compile, is the same for it,
    if no column turns out to be noisy: so it can be compiled before anything has been learned."""
    members = len(trained.diverged_at)
    good = np.ones(members, bool)
    nets, values = (_sound(one.state.target, good) for one in (trained, value_trained))
    weights, units = jax.device_put(((good / members).astype(np.float32), units))
    nothing = silent(members + 1, len(units.moving))
    simulator, columns = _simulator(nets, values, weights, units, LEAST_APART, nothing, returns, dataset)
    return World(
        simulator, (trained, value_trained), good, sizes, sizes.steps, (), None, 0.0, (),
        log_paths(dataset, columns, 0), Memory(), np.zeros((members + 1, dataset.num_episodes), np.float32),
    )  # fmt: skip


def log_value_steps(steps: int) -> int:
    """V_b is one number of a state, without bootstrapping: it takes less than the simulator."""
    return max(1, steps // 4)


def _sound(nets: Any, good: NDArray[np.bool_]) -> Any:
    """Networks of broken members with zeros for weights: they weigh nothing, and zero times not-a-number is none."""

    def mend(leaf: Array) -> Array:
        mask = jnp.asarray(good).reshape(-1, *([1] * (leaf.ndim - 1)))
        return jnp.where(mask, leaf, 0.0)

    return nets if good.all() else jax.tree.map(mend, nets)
