"""What importance weights are worth, against weights that are known."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.importance_weights import (
    Episodes,
    Weights,
    effective_sample,
    effective_size,
    episode_weights,
    make_weights,
)
from tests.problems import Chain


def test_effective_sample_size():
    episodes = Episodes(np.array([0, 1, 2, 3, 4]), 0.9)
    for per_decision in (False, True):
        assert effective_size(np.full(4, 7.0), episodes, per_decision) == pytest.approx(4.0)
        assert effective_size(np.array([800.0, 0, 0, 0]), episodes, per_decision) == pytest.approx(1.0)
        assert effective_size(np.log([1.0, 2, 3, 4]), episodes, per_decision) == pytest.approx(100 / 30)
        assert effective_size(np.full(4, -np.inf), episodes, per_decision) == 0.0


def test_the_weights_of_episodes():
    """Two episodes, of one step and of two. The second ratio of the latter holds for all time beyond."""
    episodes, logs = Episodes(np.array([0, 1, 3]), 0.5), np.log([3.0, 1.0, 2.0])
    np.testing.assert_allclose(np.exp(episode_weights(logs, episodes, False)), [3.0, 2.0])
    np.testing.assert_allclose(np.exp(episode_weights(logs, episodes, True)), [3.0, 0.5 * 1 + 0.25 * 2 + 0.25 * 2])
    now = Episodes(np.array([0, 1, 3]), 0.0)
    np.testing.assert_allclose(np.exp(episode_weights(logs, now, True)), [3.0, 1.0])
    found = effective_sample(Weights(logs[None], episodes, (), ()), False)
    assert found == pytest.approx((25 / 13, False, 2.5, 3 / 5, (3 * 1 + 2 * 2) / 5 / 1.5))
    nothing = effective_sample(Weights(np.full((1, 3), -np.inf), episodes, (), ()), True)
    assert (nothing.size, nothing.mean) == (0.0, 0.0)
    assert np.isfinite(effective_sample(Weights(np.full((1, 3), 900.0), episodes, (), ()), False).mean)


def test_the_mean_weight_is_one_where_the_probabilities_are_right():
    log = Chain().log(2000, length=10, right=0.5, log_probs=True)
    for per_decision in (False, True):
        weights = make_weights(make_problem(log, Chain.policy(0.6), 0.9, draws=1), None)
        assert effective_sample(weights, per_decision).mean == pytest.approx(1.0, abs=0.05)
