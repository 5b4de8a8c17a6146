"""Minari datasets, as Minari collects them."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from ropeval.data import load_dataset
from ropeval.errors import UserError

pytestmark = pytest.mark.usefixtures("read_here")


class Branching(gymnasium.Env):
    """Nothing of interest happens, in a space with every kind of branch and leaf."""

    observation_space = spaces.Dict(
        {
            "position": spaces.Box(-5, 5, (2, 2)),
            "mode": spaces.Discrete(3, start=1),
            "rest": spaces.Tuple((spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3]))),
        }
    )

    def __init__(self, action_space):
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), float(np.sum(action)), False, self.steps == 4, {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "space", [spaces.MultiBinary(3), spaces.Discrete(4, start=2), spaces.Box(-1, 1, (2,)), spaces.MultiDiscrete([2, 3])]
)
def test_what_minari_collects_is_flattened_as_gymnasium_does(tmp_path, monkeypatch, space):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(Branching(space))
    seen, acted = [], []
    space.seed(0)
    for episode in range(3):
        seen.append([env.reset(seed=episode)[0]])
        for _ in range(4):
            acted.append(space.sample())
            seen[-1].append(env.step(acted[-1])[0])
    env.create_dataset("made/up-v0")

    log = load_dataset("made/up-v0")
    expected = [[spaces.flatten(Branching.observation_space, o) for o in episode] for episode in seen]
    np.testing.assert_allclose(log.observations, np.concatenate([e[:-1] for e in expected]))
    np.testing.assert_allclose(log.next_observations, np.concatenate([e[1:] for e in expected]))
    np.testing.assert_array_equal(log.starts, [0, 4, 8, 12])
    assert log.truncations.sum() == 3
    if isinstance(space, spaces.Discrete):
        assert log.num_actions == 4
        np.testing.assert_array_equal(log.actions, np.array(acted) - 2)
    else:
        np.testing.assert_allclose(log.actions, [spaces.flatten(space, a) for a in acted])
        assert bool(log.notices) != isinstance(space, spaces.Box)
    assert load_dataset(tmp_path / "made" / "up-v0").sha256 == log.sha256
    assert load_dataset(tmp_path / "made" / "up-v0" / "data" / "main_data.hdf5").sha256 == log.sha256
    with pytest.raises(UserError, match="but made/up-v0"):
        load_dataset("made/up-v1")
