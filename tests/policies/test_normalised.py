"""Policies that see normalised observations."""

from typing import Any

import numpy as np

from ropeval.policies import load_policy
from tests.policies.hostile import FILES
from tests.policies.samples import HIGH, LOW

RNG = np.random.default_rng(0)


def test_normalised_policies_take_raw_observations(expected):
    spec = f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}"
    policy: Any = load_policy(spec)
    scaled = policy.statistics.apply(expected["observations"])
    assert np.abs(scaled).max() == 2.0, "the clip is part of it"
    raw = load_policy(f"{FILES / 'ppo_normalised.zip'}+none@mean")
    np.testing.assert_array_equal(
        raw.sample(scaled, RNG), load_policy(f"{spec}@mean").sample(expected["observations"], RNG)
    )
    assert policy.sha256 != raw.sha256
    np.testing.assert_array_equal(policy.box, (LOW, HIGH))


def test_a_normalised_log_and_statistics_is_noted():
    policy = load_policy(f"{FILES / 'ppo_normalised.zip'}+{FILES / 'vecnormalize.pkl'}")
    rng = np.random.default_rng(0)
    raw = (3 * rng.standard_normal((1000, 3)) + [1, 2, 3]).astype(np.float32)  # as the policy was trained on
    assert policy.notes(raw) == []
    (note,) = policy.notes(0.01 * raw)
    assert "is the log normalised already (then +none)" in note
