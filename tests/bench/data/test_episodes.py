"""Episodes: each by its own number, and nothing else."""

import gymnasium
import numpy as np
import pytest

from ropeval.bench.data.episodes import Player, make_environment, space_of
from ropeval.bench.data.policy_files import locate
from ropeval.bench.data.tasks import find_task
from ropeval.errors import UserError
from ropeval.policies import UniformPolicy


@pytest.fixture(scope="module")
def player():
    return Player("Pendulum-v1", UniformPolicy(), max_steps=5)


def test_the_random_policy_is_uniform_over_the_action_space():
    random = locate(find_task("tiny/pendulum"), "random", None).load()
    player = Player("Pendulum-v1", random)
    actions = np.concatenate([player.play(0, "x", number).actions for number in range(5)])
    assert actions.shape == (1000, 1)
    assert abs(actions.min() + 2) < 0.02
    assert abs(actions.max() - 2) < 0.02
    assert abs(actions.mean()) < 0.15


def test_an_episode_depends_on_seed_stream_and_number_only(player):
    first = player.play(0, "x", 3)
    others = [player.play(*asked) for asked in ((0, "x", 4), (0, "y", 3), (1, "x", 3))]
    again = player.play(0, "x", 3)
    np.testing.assert_array_equal(first.observations, again.observations)
    np.testing.assert_array_equal(first.actions, again.actions)
    assert all((first.actions != other.actions).all() for other in others)


def test_columns_are_the_episodes_end_to_end(player):
    episodes = [player.play(0, "x", number) for number in range(2)]
    columns = player.columns(episodes)
    assert columns["lengths"].tolist() == [5, 5]
    np.testing.assert_array_equal(np.flatnonzero(columns["truncations"]), [4, 9])
    assert not columns["terminations"].any()
    np.testing.assert_array_equal(columns["next_observations"][:4], columns["observations"][1:5])
    np.testing.assert_array_equal(columns["observations"][5], episodes[1].observations[0])
    np.testing.assert_allclose(columns["log_probs"], -np.log(4.0), rtol=1e-6)


def test_the_time_limit_is_the_registered_one_whatever_is_played(player):
    assert player.time_limit == 200


def test_what_cannot_be_played_is_named():
    with pytest.raises(UserError, match="environment NoSuch-v0: cannot be made"):
        make_environment("NoSuch-v0")


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2), "only boxes of numbers work"),
        (
            gymnasium.spaces.Box(0, 1, (2,)),
            gymnasium.spaces.Discrete(2, start=1),
            "expected a bounded box, or integers",
        ),
        (gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Box(-np.inf, 1, (2,)), "expected a bounded box"),
        (gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Box(0, 1, (2, 2)), "expected a bounded box"),
    ],
)
def test_spaces_that_do_not_work(observations, actions, message):
    env = type("Env", (), {"observation_space": observations, "action_space": actions})
    with pytest.raises(UserError, match=f"environment own: .*{message}"):
        space_of(env, "own")


def test_an_observation_of_any_shape_is_a_vector():
    env = type(
        "Env",
        (),
        {"observation_space": gymnasium.spaces.Box(0, 1, (2, 3)), "action_space": gymnasium.spaces.Discrete(4)},
    )
    found = space_of(env, "own")
    assert (found.observation_size, found.action_size, found.discrete) == (6, 4, True)
