"""What is made once per log: noise, replays, and members that are left out."""

from contextlib import suppress
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.world import WorldConfig
from ropeval.estimators.world.prepared import _missed, _unforeseen
from ropeval.policies import UniformPolicy
from tests.estimators.world.logs import QUICK, SMALL, log_of, patients, resampled, simulator_of
from tests.problems import LinearQuadratic
from tests.tiny import tiny_log

pytestmark = pytest.mark.training
EPISODES = 300


@pytest.mark.parametrize(("noise", "noisy"), [(0.0, ()), (0.3, (0, 1))])
def test_noise_is_found_where_there_is_some(noise, noisy):
    log = LinearQuadratic(noise=noise).log(EPISODES)
    world = simulator_of(log, chosen=SMALL)
    assert world.noisy == noisy
    drawn = np.asarray(world.simulator.noise) * np.asarray(world.simulator.units.change_std)
    np.testing.assert_allclose(drawn.std(axis=1), noise, rtol=0.15)  # of both members and of their mean
    np.testing.assert_allclose(drawn.mean(axis=1), 0, atol=1e-5)


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


def test_a_broken_member_has_no_say():
    """One member's learning rate is absurd. What is left is what the other one would have said alone."""
    log = tiny_log("continuous")
    run = resampled(log)
    broken = simulator_of(log, run=replace(run, settings={"world.learning_rate": [1e-3, 1e30]}))
    alone = simulator_of(log, run=resampled(log, members=1))
    np.testing.assert_array_equal(broken.good, [True, False])
    np.testing.assert_array_equal(broken.simulator.weights, [1.0, 0.0])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(broken.simulator))
    np.testing.assert_allclose(broken.simulator.noise[-1], alone.simulator.noise[-1], atol=1e-3)
    np.testing.assert_array_equal(broken.simulator.usual, alone.simulator.usual)
    np.testing.assert_allclose(broken.replays[0], alone.replays[0], rtol=1e-3)  # one step, before noise plays a part


def test_all_members_broken_is_no_traceback():
    log = tiny_log("continuous")
    world = simulator_of(log, run=replace(resampled(log), settings={"world.learning_rate": [1e30, 1e30]}))
    assert not world.good.any()
    assert world.sizes.steps == QUICK["steps"]


def test_what_was_rehearsed_is_not_compiled_again():
    """As on an accelerator, where all members are one program; the rehearsal is done before training begins."""
    compiled: list[str] = []
    rehearsed: list[list[str]] = []
    log = LinearQuadratic().log(40)
    alone = replace(resampled(log), arrangement="vectorised")
    config = WorldConfig(**QUICK | {"width": 9}, max_horizon=40)  # another shape than in other tests

    def heard(event, seconds, **about):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(about["fun_name"])

    def aside(work):
        with suppress(Exception):  # it ends where all has been compiled
            work(lambda stage, share: None)
        rehearsed.append(compiled.copy())
        compiled.clear()

    def ask(run):
        problem = make_problem(log, UniformPolicy().fitted(log.space), 0.9)
        return ESTIMATORS["world"](problem, config, run)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        found = ask(replace(alone, aside=aside))
        (early,) = rehearsed
        assert {name for name in compiled if name.startswith("jit(_")} == set()
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
    for name in ("_chunk_of_all", "_compare", "_replay", "_log_values_of", "_compiled_chunk"):
        assert f"jit({name})" in early
    assert early.count("jit(_compiled_chunk)") == 1  # of a horizon of 41 steps: one program for both chunks
    unrehearsed = ask(alone)
    np.testing.assert_array_equal(found.values, unrehearsed.values)
    assert found.value == unrehearsed.value
