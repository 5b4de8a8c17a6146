"""The trivial answers, by hand."""

import numpy as np
import pytest

import ropeval


def test_baselines_by_hand(columns):
    log = ropeval.Dataset.from_columns(columns)
    rewards = columns["rewards"].astype(float).reshape(3, 4)
    policy = ropeval.UniformPolicy(-1, 1)
    expected = {"mean-reward": rewards.mean() / 0.1, "mean-return": (rewards @ 0.9 ** np.arange(4)).mean()}
    for method, truth in expected.items():
        assert ropeval.evaluate(log, policy, method, gamma=0.9).value == pytest.approx(truth, rel=1e-6)
