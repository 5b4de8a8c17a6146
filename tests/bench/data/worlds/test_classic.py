"""Classic control on arrays: the same steps as Gymnasium's, and the same values."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from ropeval.bench.data.episodes import Player
from ropeval.bench.data.truth import summarise_episode
from ropeval.bench.data.worlds.classic import play
from ropeval.bench.data.worlds.environments import CLASSIC


@pytest.mark.parametrize("name", CLASSIC)
def test_every_step_is_gymnasiums(name):
    """Also the registration: Gymnasium's own time limit."""
    world: Any = CLASSIC[name][0]
    assert CLASSIC[name][1] == gymnasium.spec(name).max_episode_steps
    env: Any = gymnasium.make(name, disable_env_checker=True)
    rng = np.random.default_rng(0)
    for episode in range(3):
        seen, _ = env.reset(seed=episode)
        for _ in range(150):
            state = np.array(env.unwrapped.state, np.float64)[None]
            np.testing.assert_allclose(world.physics.observe(state)[0], seen, atol=1e-6)
            env.action_space.seed(int(rng.integers(2**31)))
            action = env.action_space.sample()
            after, rewards, over = world.physics.step(state, np.array([action]))
            seen, reward, terminated, _, _ = env.step(action)
            np.testing.assert_allclose(world.physics.observe(after)[0], seen, atol=2e-6, rtol=2e-6)
            assert rewards[0] == pytest.approx(reward, abs=1e-6)
            assert over[0] == terminated
            if terminated:
                break


@pytest.mark.parametrize("name", CLASSIC)
def test_first_states_are_gymnasiums(name):
    world: Any = CLASSIC[name][0]
    env = gymnasium.make(name, disable_env_checker=True)
    theirs = np.array([env.reset(seed=seed)[0] for seed in range(1_500)])
    ours = world.physics.observe(world.physics.start(20_000, np.random.default_rng(0)))
    spread = ours.std(axis=0) + 1e-9
    np.testing.assert_allclose(theirs.mean(axis=0) / spread, ours.mean(axis=0) / spread, atol=0.12)
    np.testing.assert_allclose(theirs.std(axis=0) / spread, ours.std(axis=0) / spread, atol=0.12)


def test_values_agree_with_played_episodes():
    from ropeval.bench.data.policy_files import locate
    from ropeval.bench.data.tasks import find_task

    task = find_task("suite/cartpole-weak-5k")
    player = Player(task.environment, locate(task, "2", None).load())
    played = [summarise_episode(player.play(0, "x", number), 0.99, 500) for number in range(60)]
    summaries = play(player.env.unwrapped.physics, player.policy, 0.99, 500, 2_000)
    for mine, theirs in zip(np.array(played).T, summaries.T, strict=True):
        assert abs(mine.mean() - theirs.mean()) < 4 * theirs.std() / len(played) ** 0.5
