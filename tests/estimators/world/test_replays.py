"""Who replays which episode."""

import numpy as np
import pytest

from ropeval.estimators.world.replays import TOGETHER, _replay, is_steady, members_asked, replayed
from ropeval.learning.engine import Run, member_keys
from tests.estimators.world.logs import SMALL, resampled, simulator_of
from tests.problems import LinearQuadratic
from tests.tiny import tiny_log

SOUND = np.array([True, True])
EPISODES = 300


def test_an_episode_is_replayed_by_members_that_have_not_seen_it():
    log = tiny_log("continuous")
    run = resampled(log)
    asked, held_out = members_asked(run, log.num_episodes, SOUND)
    assert held_out
    np.testing.assert_array_equal(asked, run.counts == 0)
    assert 0.3 < asked.any(axis=0).mean() < 0.9  # 1 − 0.63² of the episodes with two members


def test_a_broken_member_replays_nothing():
    log = tiny_log("continuous")
    asked, held_out = members_asked(resampled(log), log.num_episodes, np.array([True, False]))
    assert held_out
    assert not asked[1].any()


def test_where_nothing_is_resampled_all_are_asked_and_it_says_so():
    asked, held_out = members_asked(Run(member_keys(0, 2)), 5, SOUND)
    assert not held_out
    assert asked.shape == (2, 5)
    assert asked.all()


@pytest.mark.training
def test_replayed_episodes_earn_what_they_earned():
    """Within a tenth of how much episodes differ, at one step and at ten; no episode is longer."""
    world = simulator_of(LinearQuadratic(noise=0.0).log(EPISODES), chosen=SMALL)
    assert [replay.steps for replay in world.replays] == [1, 10]
    for replay in world.replays:
        assert replay.predicted == pytest.approx(replay.logged, abs=0.1 * replay.logged_std)
        assert replay.error < 0.2 * replay.logged_std
        assert replay.episodes == 64
        assert replay.held_out
        assert replay.open_loop
        assert replay.steady


@pytest.mark.training
@pytest.mark.parametrize("open_loop", [False, True])
def test_a_few_steps_at_a_time_are_all_at_once(open_loop):
    log = LinearQuadratic(noise=0.1).log(EPISODES)
    world = simulator_of(log, chosen=SMALL).simulator
    steps, episodes = 2 * TOGETHER + 3, 4
    rows = np.arange(steps)[:, None] + 30 * np.arange(episodes)
    states, actions = log.observations[rows], log.actions[rows]
    along = (states, actions, np.full((episodes, len(world.weights)), 0.5, np.float32), np.bool_(open_loop))
    _, at_once = _replay(world, states[0], np.int32(0), *along)
    for part, whole in zip(replayed(world, states[0], *along), at_once, strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("growth", "steady"), [(0.9, True), (1.02, True), (1.2, False), (np.inf, False)])
def test_replays_part_where_errors_grow(growth, steady):
    """From 0.01 standard deviations apart, over 50 steps: 1.02 makes them 0.03, 1.2 makes them 90."""
    states = np.zeros((50, 8, 2), np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = (0.01 * np.float32(growth) ** np.arange(50, dtype=np.float32))[:, None, None]
        moved = states + apart * np.array([3.0, 5.0], np.float32)
    assert is_steady(states, moved.astype(np.float32), np.array([3.0, 5.0], np.float32)) == steady
