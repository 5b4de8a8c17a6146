"""Model-based: learn the task as a network, then live in it under the evaluation policy.

    maximise  E_D[ log p(s' | s, a) + log Bernoulli( terminated ; d(s, a) ) − ½ (r − μ_r(s, a))² ]

    ρ̂(π_e) = E[ Σ_t γ^t c_t μ_r(s_t, a_t) ],    c₀ = 1,  c_{t+1} = c_t (1 − d(s_t, a_t)),    s_{t+1} ~ p(·|s_t, a_t)

p(s'|s, a) is a Gaussian over s' − s with its own variance in every dimension; or, where the log shows only a few
different states (a grid, a chain), a softmax over them, since a Gaussian around a one-hot code lands between states.
Every member is one network from its own start; what the members disagree about is what the log does not say.

States, differences, actions and rewards are standardised inside. p is learned from the steps that did not terminate,
so that a rollout need not end at random: it goes on with the weight c that it would still be running. Rewards enter
the value by their mean alone, and squared error fits the mean; a learned variance would let the network neglect the
large ones. After the last simulated step the rest, a share γ^H, is filled in as if that step repeated for ever.

The policy is any Python object, so a step of all rollouts is one answer of the policy here and one of the network
on the device. Simulated states are kept within the logged range and a margin: outside, the network knows nothing,
and a small error there feeds on itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Dataset, Log, Problem, Rows, Transitions
from ropeval.data.problem import normaliser
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, Trained, train
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, adamw, descend, start
from ropeval.policies import Policy
from ropeval.policies.policy import draw_actions
from ropeval.settings import PartConfig

Floats = NDArray[np.float32]
LOG_STD_LIMIT = 5.0  # either way, of a standardised difference
PROBED = 4096  # rows behind a point of the curve
LEFT_RANGE = 0.05  # of the simulated states beyond the logged range, from which on a warning is due
FEW_STATES = 200  # different ones, up to which they are taken for all there are
CUT_OFF = 0.05  # share of the discounted horizon beyond the cap, from which on a warning is due


class ModelConfig(PartConfig):
    steps: PositiveInt = 10_000
    learning_rate: PositiveFloat = 1e-3
    batch: PositiveInt = 256
    width: PositiveInt = 256
    depth: PositiveInt = 2
    rollouts: PositiveInt = 1_000  # per member, shared out evenly over the initial states
    tail: PositiveFloat = 1e-3  # the horizon H is where γ^H falls below it …
    max_horizon: PositiveInt = 2_000  # … or this
    margin: NonNegativeFloat = 0.1  # around the logged range, as a share of it
    tau: PositiveFloat = 0.01  # step of the averaged parameters, which are the ones used
    weight_decay: NonNegativeFloat = 1e-4
    gradient_clip: PositiveFloat = 1.0  # of every entry


# --- the network ----------------------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """For one pair, in standardised units."""

    state: Array  # mean and log std of the difference [2 S], or logits of the known states [C]
    reward: Array  # []
    end: Array  # [] logit of termination


def predict(net: MLP, x: Array) -> Prediction:
    """For a standardised pair [S + A]."""
    output = net(x)
    return Prediction(output[:-2], output[-2], output[-1])


def difference(state: Array) -> tuple[Array, Array]:
    """Mean and log std of the standardised difference: [S] each."""
    mean, log_std = jnp.split(state, 2)
    return mean, LOG_STD_LIMIT * jnp.tanh(log_std / LOG_STD_LIMIT)


def surprise(state: Array, outcome: Array, finite: bool) -> Array:
    """−log p(s'|s, a), up to a constant: `outcome` is a difference [S], or the number of a known state [1]."""
    if finite:
        return -jax.nn.log_softmax(state)[outcome[0].astype(int)]
    mean, log_std = difference(state)
    return (0.5 * ((outcome - mean) * jnp.exp(-log_std)) ** 2 + log_std).sum()


def row_loss(net: MLP, row: Rows, finite: bool) -> Array:
    """Of one row; where a terminating step leads says nothing about those that go on."""
    found = predict(net, row.x)
    goes_on = row.discount
    ends = -jax.nn.log_sigmoid(jnp.where(goes_on > 0, -found.end, found.end))
    return goes_on * surprise(found.state, row.next_x[0], finite) + 0.5 * (row.reward - found.reward) ** 2 + ends


@lru_cache(maxsize=64)
def make_learner(config: ModelConfig, pair: int, outcome: int, finite: bool) -> Learner:
    """`pair`: length of a state and an action; `outcome`: of a difference, or the number of known states."""
    transform = adamw(config.gradient_clip, config.weight_decay)

    def init(key: Array, hyper: Hyper) -> Learned:
        outputs = (outcome if finite else 2 * outcome) + 2
        return start(MLP(key, pair, outputs, config.width, config.depth), transform)

    def loss(net: MLP, rows: Rows) -> Array:
        return jax.vmap(partial(row_loss, finite=finite), in_axes=(None, 0))(net, rows).mean()

    def update(state: Learned, batch: Rows, key: Array, hyper: Hyper) -> tuple[Learned, Metrics]:
        error, gradient = jax.value_and_grad(loss)(state.params, batch)
        return descend(state, gradient, transform, hyper["learning_rate"], config.tau), {"loss": error}

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        every = max(1, transitions.size // PROBED)
        return {"fit": loss(state.target, jax.tree.map(lambda a: a[::every], transitions.rows))}

    return Learner(init, update, probe, config.batch)


# --- units ----------------------------------------------------------------------------------------------------


class Units(NamedTuple):
    """From the log's units to the network's and back. The arrays are those of the log; the leaves are per column."""

    state_mean: Any  # [S]
    state_std: Any
    action_mean: Any  # [A]; zeros and ones where actions are discrete
    action_std: Any
    change_mean: Any  # [S]
    change_std: Any
    reward_mean: Any  # []
    reward_std: Any
    state_low: Any  # [S] the logged range and its margin
    state_high: Any
    reward_low: Any  # []
    reward_high: Any
    ends: Any  # [] 1 where the log holds terminations at all, else 0
    known: Any  # [C, S] all states there are, or None


def make_units(dataset: Dataset, actions: Floats, margin: float) -> Units:
    goes_on = ~dataset.terminations if not dataset.terminations.all() else np.ones(len(dataset), bool)
    change = (dataset.next_observations - dataset.observations)[goes_on]
    reward_mean, reward_std = normaliser(dataset.rewards[:, None])
    code = dataset.num_actions is not None
    action_mean, action_std = normaliser(actions)
    seen = np.concatenate([dataset.observations, dataset.next_observations[goes_on], dataset.initial_observations])
    low, high = seen.min(axis=0), seen.max(axis=0)
    reward_low, reward_high = dataset.rewards.min(), dataset.rewards.max()
    return Units(
        *normaliser(dataset.observations),
        np.zeros_like(action_mean) if code else action_mean,
        np.ones_like(action_std) if code else action_std,
        *normaliser(change),
        reward_mean[0],
        reward_std[0],
        low - margin * (high - low),
        high + margin * (high - low),
        reward_low - margin * (reward_high - reward_low),
        reward_high + margin * (reward_high - reward_low),
        np.float32(dataset.terminations.any()),
        known_states(np.concatenate([dataset.observations, dataset.next_observations, dataset.initial_observations])),
    )


def known_states(seen: Floats) -> Floats | None:
    """The different states [C, S] of a log that shows only a few, each of them often."""
    few = min(FEW_STATES, len(seen) // 10)
    if len(np.unique(seen[:10_000], axis=0)) > few:  # a look at some is enough to dismiss most logs
        return None
    known = np.unique(seen, axis=0)
    return known if len(known) <= few else None


def as_transitions(dataset: Dataset, actions: Floats, units: Units) -> Transitions:
    """Rows for the engine: x is the pair, next_x where it leads, discount whether the episode goes on."""
    states = (dataset.observations - units.state_mean) / units.state_std
    acted = (actions - units.action_mean) / units.action_std
    outcome = (dataset.next_observations - dataset.observations - units.change_mean) / units.change_std
    if units.known is not None:
        _, number = np.unique(np.concatenate([units.known, dataset.next_observations]), axis=0, return_inverse=True)
        outcome = number.reshape(-1, 1)[len(units.known) :].astype(np.float32)  # [N, 1]
    rows = Rows(
        x=jnp.asarray(np.concatenate([states, acted], axis=1)),
        next_x=jnp.asarray(outcome)[:, None],
        reward=jnp.asarray((dataset.rewards - units.reward_mean) / units.reward_std),
        discount=jnp.asarray((~dataset.terminations).astype(np.float32)),
    )
    return Transitions(rows, jnp.zeros((1, 1, 1)), starts=jnp.asarray(dataset.starts))


# --- rollouts -------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    next_states: Array  # [M, R, S]
    rewards: Array  # [M, R]
    ends: Array  # [M, R] probability of termination
    outside: Array  # [M, R] whether the state left the logged range


@jax.jit
def advance(nets: Any, units: Units, keys: Array, time: Array, states: Array, actions: Array) -> Step:
    """One step of every rollout: states [M, R, S] and actions [M, R, A], in the log's units."""

    def one(net: MLP, key: Array, state: Array, action: Array) -> Step:
        pair = [(state - units.state_mean) / units.state_std, (action - units.action_mean) / units.action_std]
        found = predict(net, jnp.concatenate(pair))
        if units.known is not None:
            following = units.known[jax.random.categorical(key, found.state)]
        else:
            mean, log_std = difference(found.state)
            change = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
            following = state + units.change_mean + units.change_std * change
        reward = units.reward_mean + units.reward_std * found.reward
        return Step(
            jnp.clip(following, units.state_low, units.state_high),
            jnp.clip(reward, units.reward_low, units.reward_high),
            units.ends * jax.nn.sigmoid(found.end),
            ((following < units.state_low) | (following > units.state_high)).any(),
        )

    def member(net: MLP, key: Array, states: Array, actions: Array) -> Step:
        draws = jax.random.split(jax.random.fold_in(key, time), len(states))
        return jax.vmap(one, in_axes=(None, 0, 0, 0))(net, draws, states, actions)

    return jax.vmap(member)(nets, keys, states, actions)


@dataclass(frozen=True, eq=False)
class Rollouts:
    values: NDArray[np.float64]  # [M]
    outside: float  # share of the simulated states that left the logged range


def roll_out(
    nets: Any, units: Units, ask: Callable[[Floats], Floats], initial: Floats, gamma: float, horizon: int, run: Run
) -> Rollouts:
    """Follow the policy from `initial` [M, R, S], each member in its own network. `ask`: states → actions."""
    keys = jax.vmap(lambda key: jax.random.fold_in(key, 1))(run.keys)
    states = initial
    running = np.ones(states.shape[:2])  # [M, R] c_t
    total, outside = np.zeros(states.shape[:2]), 0.0
    for time in range(horizon):
        step = advance(nets, units, keys, jnp.int32(time), states, ask(states))
        rewards, ends = np.asarray(step.rewards, np.float64), np.asarray(step.ends, np.float64)
        total += gamma**time * running * rewards
        outside += float(np.asarray(step.outside).mean())
        running *= 1.0 - ends
        states = np.asarray(step.next_states)
        if run.report and time % 16 == 0:
            run.report("rollouts", time / horizon)
    total += gamma**horizon * running * rewards / (1.0 - gamma * (1.0 - ends))
    broken = ~np.isfinite(states).all(axis=(1, 2))  # the state of a broken network is not a number, clipped or not
    return Rollouts(np.where(broken, np.nan, total.mean(axis=1)), outside / horizon)


def ask_policy(
    policy: Policy, encode: Callable[[NDArray[Any]], Floats], generators: list[np.random.Generator], states: Floats
) -> Floats:
    """Encoded actions [M, R, A] for states [M, R, S]; every member draws from its own generator."""
    if not np.isfinite(states).all():  # policies are asked about numbers only; such a member is given up at the end
        states = np.nan_to_num(states)
    drawn = [draw_actions(policy, own, 1, rng)[:, 0] for own, rng in zip(states, generators, strict=True)]
    return np.stack([encode(actions) for actions in drawn])


def choose_initial(initial: Floats, rollouts: int, rng: np.random.Generator) -> Floats:
    """Every initial state equally often, at least once; where there are too many, a random part of them."""
    if len(initial) >= rollouts:
        return initial[np.sort(rng.choice(len(initial), rollouts, replace=False))]
    return np.repeat(initial, rollouts // len(initial), axis=0)


def horizon_for(gamma: float, config: ModelConfig) -> int:
    """The first H with γ^H below the tail, capped."""
    needed = 1 if gamma == 0 else math.ceil(math.log(config.tail) / math.log(gamma)) if config.tail < 1 else 1
    return max(1, min(needed, config.max_horizon))


def encode(num_actions: int | None, actions: NDArray[Any]) -> Floats:
    """[n, A] as they are, or one-hot; a discrete action that the log never shows has no code of its own."""
    if num_actions is None:
        return actions.astype(np.float32)
    return (actions[:, None] == np.arange(num_actions)[None]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Model:
    """Every member's network, and the units that it thinks in."""

    trained: Trained
    units: Units


def learn(log: Log, config: ModelConfig, run: Run) -> Model:
    """The log's side: one network per member, whatever policy is going to live in it."""
    data = log.dataset
    actions = encode(data.num_actions, data.actions)
    units = make_units(data, actions, config.margin)
    rows = as_transitions(data, actions, units)
    outcomes = data.observations.shape[1] if units.known is None else len(units.known)
    learner = make_learner(config, rows.dim, outcomes, units.known is not None)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    return Model(train(learner, rows, hyper, config.steps, run), units)


def estimate(problem: Problem, config: ModelConfig, run: Run, model: Model) -> Estimated:
    data, policy = problem.dataset, problem.policy
    horizon = horizon_for(problem.gamma, config)
    generators = [np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel()) for key in run.keys]
    counts = np.ones((run.members, data.num_episodes), int) if run.counts is None else run.counts
    starting = [np.repeat(data.initial_observations, own, axis=0) for own in counts]  # each [E, S]
    initial = np.stack(
        [choose_initial(own, config.rollouts, rng) for own, rng in zip(starting, generators, strict=True)]
    )
    ask = partial(ask_policy, policy, partial(encode, data.num_actions), generators)
    found = roll_out(model.trained.state.target, model.units, ask, initial, problem.gamma, horizon, run)
    notes = []
    if found.outside > LEFT_RANGE:
        notes.append(
            f"{found.outside:.0%} of the simulated states left the range of the logged ones by more than "
            f"{config.margin:.0%} and were put back: there the model guesses"
        )
    if problem.gamma**horizon > CUT_OFF:
        notes.append(
            f"the rollouts stop after {horizon} steps (max_horizon), before {problem.gamma**horizon:.0%} of the "
            "discounted horizon: the rest is filled in with their last reward"
        )
    return Estimated(found.values, (model.trained,), tuple(notes))


MODEL = Estimator(
    name="model",
    config=ModelConfig,
    prepare=learn,
    estimate=estimate,
    summary="rollouts in an ensemble of learned dynamics and rewards",
    takes_features=False,
)
