"""Returns of logged episodes, within a horizon and beyond cut-offs."""

import numpy as np
import pytest

from ropeval.data import Dataset
from ropeval.data.returns import beyond_cut, continued_returns, discounted_steps, episode_returns


@pytest.fixture
def log():
    """Two episodes: three steps to an end, two to a cut-off."""
    return Dataset.from_columns(
        {
            "observations": np.arange(5.0)[:, None],
            "actions": np.zeros((5, 1)),
            "rewards": np.array([1.0, 2.0, 4.0, 8.0, 16.0]),
            "terminations": np.array([0, 0, 1, 0, 0]),
            "truncations": np.array([0, 0, 0, 0, 1]),
            "next_observations": np.arange(5.0)[:, None] + 1,
        }
    )


def test_sums_of_discounts():
    assert discounted_steps(0.5, 3) == 1.75
    assert discounted_steps(0.5, np.inf) == 2.0
    assert discounted_steps(1.0, 3) == 3.0
    np.testing.assert_allclose(discounted_steps(0.5, np.array([0, 1])), [0.0, 1.0])


def test_only_the_first_steps_count(log):
    np.testing.assert_allclose(episode_returns(log, 0.5), [3.0, 16.0])
    np.testing.assert_allclose(episode_returns(log, 1.0, 2), [3.0, 24.0])


def test_what_a_cut_off_took_away_goes_on_at_the_mean_reward(log):
    np.testing.assert_allclose(beyond_cut(log, 0.5), [0.0, 0.5])  # 2 − 1.5
    np.testing.assert_allclose(beyond_cut(log, 1.0, 5), [0.0, 3.0])
    np.testing.assert_allclose(beyond_cut(log, 1.0, 2), 0.0)
    np.testing.assert_allclose(continued_returns(log, 1.0, 5), [7.0, 24.0 + 3 * 6.2], rtol=1e-6)
