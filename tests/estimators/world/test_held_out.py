"""What rows that a member has not seen tell: noise, and states that are not whole."""

import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Dataset
from ropeval.estimators.world.held_out import _missed, _unforeseen
from ropeval.estimators.world.memory import REWARD
from ropeval.estimators.world.noise import NOTHING
from tests.estimators.world.logs import SMALL, log_of, patients, simulator_of
from tests.problems import LinearQuadratic

pytestmark = pytest.mark.training
EPISODES = 300


@pytest.mark.parametrize(("noise", "noisy"), [(0.0, ()), (0.3, (0, 1))])
def test_noise_is_found_where_there_is_some(noise, noisy):
    log = LinearQuadratic(noise=noise).log(EPISODES)
    world = simulator_of(log, chosen=SMALL)
    assert world.noisy == noisy
    pools = world.simulator.noise
    assert (pools.tree.column == NOTHING).all()  # it is the same everywhere
    for group, count in enumerate(np.asarray(pools.count)[:, 0]):  # of both members and of their mean
        drawn = np.asarray(pools.residuals)[group, :count] * np.asarray(world.simulator.units.change_std)
        np.testing.assert_allclose(drawn.std(axis=0), noise, rtol=0.15)
        np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=1e-5)


def test_choices_are_foreseen_as_far_as_chances_say_more_than_how_often_values_come():
    """Two choices, four rows: the first is known, of the second nothing but how often each of its values comes."""
    numbers = np.array([[0, 0], [1, 0], [0, 0], [1, 1]], np.float32)
    chances = [([1.0 - known, known], [0.75, 0.25]) for known in numbers[:, 0]]
    missed = [
        _missed([jnp.array(one) for one in own], jnp.array(came)) for own, came in zip(chances, numbers, strict=True)
    ]
    assert _unforeseen(np.stack(missed), numbers) == pytest.approx([0.0, 1.0])
    assert _unforeseen(np.zeros((4, 1)), numbers[:, :0]) == []


@pytest.mark.parametrize("hidden", [False, True])
def test_a_state_that_is_not_whole_is_found(hidden):
    """A place that moves by a speed, which wanders: logged with the speed there is no memory, without it there is."""
    rng = np.random.default_rng(0)
    shape, speed = (100, 21), rng.standard_normal(100)
    places, speeds = np.zeros(shape), np.zeros(shape)
    for step in range(shape[1]):
        speeds[:, step] = speed
        speed = 0.9 * speed + 0.4 * rng.standard_normal(100)
    places[:, 1:] = speeds[:, :-1].cumsum(axis=1)
    seen = places[..., None] if hidden else np.stack([places, speeds], axis=-1)
    states, following = (part.reshape(-1, seen.shape[2]) for part in (seen[:, :-1], seen[:, 1:]))
    log = log_of(states, following, rewards=-np.abs(states[:, 0]), cuts=np.arange(2000) % 20 == 19)
    memory = simulator_of(log, chosen=SMALL).memory
    assert memory.column == (0 if hidden else 1)  # where there is noise
    assert memory.correlation > 0.6 if hidden else memory.correlation < 0.15


@pytest.mark.parametrize(("kind", "whole"), [("whole", True), ("noise", False), ("stale", False)])
def test_measurements_that_are_noisy_or_carried_forward_are_found(kind, whole):
    """What surprises at one step hardly foretells what surprises at the next; but the row before does."""
    memory = simulator_of(patients(kind), chosen=SMALL).memory
    assert memory.correlation < 0.3
    assert memory.foretold == 0.0 if whole else memory.foretold > 0.02


def weary(shown: bool) -> Dataset:
    """Who was shown something lately does not want it again: rewards are a·(1 − w), w' = 0.5·w + 0.5·a, with noise. Of
    `shown` the log tells w; otherwise a column that says nothing."""
    rng = np.random.default_rng(0)
    length, weary, columns = 20, np.zeros(200), []
    for _ in range(length):
        act = (rng.random(200) < 0.5).astype(np.float32)
        reward, later = act * (1.0 - weary) + 0.3 * rng.standard_normal(200), 0.5 * weary + 0.5 * act
        columns.append([weary, later, act, reward])
        weary = later
    every = np.array(columns, np.float32).transpose(2, 0, 1).reshape(-1, 4)
    idle = rng.standard_normal((len(every), 2)).astype(np.float32)
    states, following = (every[:, :1], every[:, 1:2]) if shown else (idle[:, :1], idle[:, 1:])
    cuts = np.arange(len(every)) % length == length - 1
    return log_of(states, following, actions=every[:, 2:3], rewards=every[:, 3], cuts=cuts)


@pytest.mark.parametrize("shown", [True, False])
def test_rewards_that_remember_are_found(shown):
    memory = simulator_of(weary(shown), chosen=SMALL).memory
    assert memory.foretold == 0.0 if shown else memory.foretold > 0.05
    assert shown or memory.foretold_column == REWARD
