"""What rows that a member has not learned from tell of it: which changes are noise, how far members usually lie apart,
and whether its states are whole."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset, Transitions
from ropeval.data.streaming import take
from ropeval.estimators.world.fitting import block_of, rows_looked_at, unseen_rows
from ropeval.estimators.world.memory import REWARD, STRETCH, Memory, remembered, rows_in_a_row
from ropeval.estimators.world.network import Prediction, disagreement, predict
from ropeval.estimators.world.noise import Noise, features, make_noise, silent
from ropeval.estimators.world.reward_noise import RewardNoise, make_reward_noise
from ropeval.estimators.world.units import Units
from ropeval.learning.engine import Run
from ropeval.runtime import RUNS_ONCE

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
USUAL = 0.99  # share of the logged rows on which members lie no further apart than is usual
LEAST_APART = np.array([1e-3, 1e-2, 1e-3], np.float32)  # changes, choices, reward: below, differences are rounding
NOISY = 0.05  # of a change's variance left unexplained on held-out rows, and
NOISE_OVER_ERROR = 3.0  # so many times what the members disagree about: then it is noise, and not the model's error
FEWEST_PAIRS = 500  # of steps in a row, from which on it is asked whether surprises foretell each other


class Look(NamedTuple):
    usual: Floats  # [3]
    noise: Noise  # residuals of rows that a member has not seen, the joint prediction's last
    noisy: NDArray[np.bool_]  # [D]
    reward_noise: RewardNoise | None
    unexplained: float  # of the variance, 0–1


def look_at_log(nets: Any, weights: Array, units: Units, data: Transitions, dataset: Dataset, run: Run) -> Look:
    rows = rows_looked_at(data.size)
    some = data.block(rows)
    unseen, share = _asked(weights, dataset, run, rows)
    apart, residual, variance, reward, missed, _ = _compare(nets, weights, units, some.x, some.next_x[:, 0], share)
    usual = np.maximum(np.quantile(np.asarray(apart), USUAL, axis=0), LEAST_APART).astype(np.float32)
    goes_on = ~dataset.terminations[rows]
    rewards = _reward_noise(np.asarray(reward, np.float64), np.asarray(some.reward, np.float64), goes_on, units)
    none = silent(run.members + 1, len(units.moving))
    of_reward = float(((np.asarray(reward)[:, 0] - np.asarray(some.reward)) ** 2).mean())
    if not goes_on.any():
        return Look(usual, none, np.zeros(len(units.moving), bool), rewards, min(1.0, of_reward))
    left = (np.asarray(residual)[goes_on] ** 2).mean(axis=0)[: len(units.moving)]
    of_choices = _unforeseen(np.asarray(missed)[goes_on], np.asarray(some.next_x)[goes_on, 0, len(units.moving) :])
    state = np.minimum(1.0, [*left, *of_choices])
    unexplained = max(min(1.0, of_reward), float(state.mean()) if len(state) else 0.0)
    if not units.moving:
        return Look(usual, none, np.zeros(0, bool), rewards, unexplained)
    noisy = (left > NOISY) & (left > NOISE_OVER_ERROR * np.asarray(variance)[goes_on].mean(axis=0))
    if not noisy.any():
        return Look(usual, none, noisy, rewards, unexplained)
    drawn = np.flatnonzero(goes_on)
    x, outcome = some.x[drawn], some.next_x[drawn, 0]
    own = np.asarray(own_residuals(nets, units, x, outcome))  # [M, p, D]
    asked = np.asarray(_asked_about(units, x, take(dataset.next_observations, rows[drawn])))
    half = rows[drawn] // STRETCH % 2
    noise = make_noise(asked, np.asarray(residual)[drawn], own, unseen[:, drawn], noisy, half)
    return Look(usual, noise, noisy, rewards, unexplained)


def _unforeseen(missed: Floats, numbers: Floats) -> list[float]:
    """Of every choice: squared errors of its chances [n, choices], as a share of those of how often each value comes.

    `numbers` [n, choices] says which value came.
    """
    found = []
    for errors, came in zip(missed.T, numbers.T, strict=False):  # without a choice there are no numbers
        often = np.unique(came, return_counts=True)[1] / len(came)
        found.append(float(errors.mean()) / max(1.0 - float((often**2).sum()), 1e-12))
    return found


def _asked(weights: Array, dataset: Dataset, run: Run, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Floats]:
    """[M, n] which sound members have not seen a row; and by how much each is asked about it."""
    sound = np.asarray(weights)[:, None] > 0
    unseen = unseen_rows(dataset, run, rows) & sound
    asked = np.where(unseen.any(axis=0), unseen, sound)  # of a row that all have seen, all are asked
    return unseen, (asked / np.maximum(1, asked.sum(axis=0))).astype(np.float32)


def look_for_memory(
    nets: Any, weights: Array, units: Units, data: Transitions, dataset: Dataset, run: Run, noisy: NDArray[np.bool_]
) -> Memory:
    rows, before = rows_in_a_row(dataset, len(rows_looked_at(data.size)))  # as many: one program for both
    if len(before) < FEWEST_PAIRS:
        return Memory()
    some = data.block(rows)
    found = _compare(nets, weights, units, some.x, some.next_x[:, 0], _asked(weights, dataset, run, rows)[1])
    _, residual, _, of_reward, _, expected = (np.asarray(part, np.float64) for part in found)
    pairs, rewards = np.asarray(some.x, np.float64), np.asarray(some.reward, np.float64)
    changes = residual[:, : len(units.moving)][:, noisy]
    columns = [column for column, is_ in zip(units.moving, noisy, strict=True) if is_]
    of_choices = _surprising(dataset, rows, units, expected)
    surprises = np.concatenate([changes, of_choices, (rewards - of_reward[:, 0])[:, None]], axis=1)
    past = np.concatenate([pairs, rewards[:, None]], axis=1)
    episode = dataset.starts.searchsorted(rows, "right")
    return remembered(surprises, len(columns), [*columns, *units.chosen_columns, REWARD], past, pairs, before, episode)


def _surprising(dataset: Dataset, rows: NDArray[np.int64], units: Units, expected: Doubles) -> Doubles:
    """[n, columns] values of choices beside what was `expected` of them, in units of how much they change."""
    columns = units.chosen_columns
    if not columns:
        return np.zeros((len(rows), 0))
    came, were = (
        take(every, rows)[:, columns].astype(np.float64) for every in (dataset.next_observations, dataset.observations)
    )
    relative = [is_ for choice, is_ in zip(units.chosen, units.relative, strict=True) for _ in choice]
    changes = (came - were).std(axis=0)
    return np.asarray((came - np.where(relative, were, 0.0) - expected) / np.where(changes > 0.0, changes, np.inf))


def _reward_noise(told: Doubles, logged: Doubles, goes_on: NDArray[np.bool_], units: Units) -> RewardNoise | None:
    """From standardised rewards [n] and what is told of them [n, 2]: the mean, and the members' variance around it."""
    left = float(((logged - told[:, 0]) ** 2).mean())
    if not left > NOISY or not left > NOISE_OVER_ERROR * float(told[:, 1].mean()):
        return None
    mean, std = float(units.reward_mean), float(units.reward_std)
    return make_reward_noise(mean + std * told[:, 0], mean + std * logged, goes_on)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def own_residuals(nets: Any, units: Units, x: Array, outcome: Array) -> Array:
    one = lambda net: jax.vmap(lambda row: predict(net, units, row).change)(x)  # noqa: E731
    return outcome[None, :, : len(units.moving)] - jax.vmap(one)(nets)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _asked_about(units: Units, x: Array, following: Array) -> Array:
    """[n, F] what noise may depend on."""
    return jax.vmap(partial(features, units))(x, following)


@partial(jax.jit, compiler_options=RUNS_ONCE)
def _compare(nets: Any, weights: Array, units: Units, x: Array, outcome: Array, asked: Array) -> tuple[Array, ...]:
    """Of rows [n]: disagreement [n, 3], residual and members' variance of the changes [n, D] (D = 0: one zero), and
    of the reward its mean and the members' variance [n, 2]; of the choices' chances the squared error [n, choices], and
    what is expected of their outcomes.

    `asked` [M, n]: weights of the members whose mean the residual is taken from.
    """

    def one(given: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        x, outcome, own = given
        every: Prediction = jax.vmap(lambda net: predict(net, units, x))(nets)
        reward = jnp.stack([own @ every.reward, weights @ (every.reward - weights @ every.reward) ** 2])
        chances = [own @ each for each in every.chances]
        missed = _missed(chances, outcome[len(units.moving) :])
        values = [given @ jnp.asarray(each) for given, each in zip(chances, units.outcomes, strict=True)]
        expected = jnp.concatenate(values) if values else jnp.zeros(1)
        if not units.moving:
            return disagreement(every, weights), jnp.zeros(1), jnp.zeros(1), reward, missed, expected
        change = own @ every.change
        spread = weights @ (every.change - (weights @ every.change)[None]) ** 2
        return disagreement(every, weights), outcome[: len(units.moving)] - change, spread, reward, missed, expected

    return jax.lax.map(one, (x, outcome, asked.T), batch_size=block_of(len(x)))


def _missed(chances: Sequence[Array], numbers: Array) -> Array:
    """[choices] squared errors of the chances of the values, given which of them came (no choice: one zero)."""
    each = [
        ((jax.nn.one_hot(came, len(given)) - given) ** 2).sum()
        for given, came in zip(chances, numbers.astype(int), strict=True)
    ]
    return jnp.stack(each) if each else jnp.zeros(1)
