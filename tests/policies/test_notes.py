"""Observations unlike those that a policy was trained on are worth a note."""

import re

import numpy as np

from ropeval.policies import load_policy
from tests.policies.hostile import FILES


def test_a_normalised_log_and_a_raw_policy_is_noted():
    rng = np.random.default_rng(0)
    policy = load_policy(FILES / "sac.zip")
    raw = rng.uniform([-1, -1, -8], [1, 1, 8], (1000, 3)).astype(np.float32)
    policy.observation_range = np.float32([-1, -1, -8]), np.float32([1, 1, 8])  # as Pendulum's
    assert policy.notes(raw) == []
    (note,) = policy.notes((raw - raw.mean(0)) / raw.std(0))
    assert re.search(
        r"4\d% of the logged observations have a number [01] outside \[-1, 1\].*is the log normalised", note
    )


def test_a_normalised_log_and_statistics_is_noted():
    policy = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}")
    rng = np.random.default_rng(0)
    raw = (3 * rng.standard_normal((1000, 3)) + [1, 2, 3]).astype(np.float32)  # as the policy was trained on
    assert policy.notes(raw) == []
    (note,) = policy.notes(0.01 * raw)
    assert "is the log normalised already (then +none)" in note
