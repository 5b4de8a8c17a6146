"""Statistics that come with a policy."""

import pickle
from typing import Any

import numpy as np

from ropeval.policies import load_policy
from tests.policies.hostile import FILES, told, written

RNG = np.random.default_rng(0)


def test_statistics_from_plain_arrays(tmp_path, expected):
    policy: Any = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}")
    statistics = policy.statistics
    np.savez(tmp_path / "s.npz", mean=statistics.mean, var=statistics.variance, clip=2.0)
    one = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}@mean")
    other = load_policy(f"{FILES / 'ppo_normalised.zip'}+{tmp_path / 's.npz'}@mean")
    observations = expected["observations"]
    np.testing.assert_array_equal(one.sample(observations, RNG), other.sample(observations, RNG))


def test_stable_baselines3_given_something_beside_it(tmp_path, logs):
    statistics = FILES / "vecnormalize.pkl"
    assert "was trained on raw observations" in told(f"{FILES / 'ppo.zip'}+{statistics}")
    assert "no such file" in told(f"{FILES / 'ppo.zip'}+{tmp_path / 'absent.pkl'}")
    assert "expected what VecNormalize.save writes" in told(
        f"{FILES / 'sac.zip'}+{written(tmp_path, pickle.dumps({'mean': 1}))}"
    )
    assert "not a policy; give them with the policy, as POLICY.zip+vecnormalize.pkl" in told(statistics)
    np.savez(tmp_path / "s.npz", average=np.zeros(3), var=np.ones(3))
    assert "expected arrays mean and var" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")
    np.savez(tmp_path / "s.npz", mean=np.zeros(7), var=np.ones(7))
    assert "statistics given with it are of 7 numbers" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")
    np.savez(tmp_path / "s.npz", mean=np.zeros(3), var=-np.ones(3))
    assert "no variance" in told(f"{FILES / 'sac.zip'}+{tmp_path / 's.npz'}")
