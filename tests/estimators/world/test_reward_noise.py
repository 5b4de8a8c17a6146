"""Rewards drawn from the logged rows that look most alike."""

import numpy as np
import pytest

from ropeval.estimators.world.reward_noise import NEAR, make_reward_noise

RNG = np.random.default_rng(0)


def test_a_reward_comes_from_rows_with_nearly_the_same_prediction():
    predicted = np.linspace(0, 1, 5000)[RNG.permutation(5000)]
    logged = (RNG.random(5000) < predicted).astype(float)  # 0 or 1, and the prediction is the chance
    noise = make_reward_noise(predicted, logged, np.ones(5000, bool))
    drawn = noise.going.draw(np.tile([0.1, 0.5, 0.9], (3000, 1)), RNG)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_allclose(drawn.mean(axis=0), [0.1, 0.5, 0.9], atol=4 * 0.5 / NEAR**0.5)


def test_episodes_that_end_have_rewards_of_their_own():
    ends = np.arange(100) % 4 == 0
    noise = make_reward_noise(np.zeros(100), np.where(ends, -7.0, 1.0), ~ends)
    assert np.unique(noise.ending.draw(np.zeros(50), RNG)) == -7.0
    assert np.unique(noise.going.draw(np.zeros(50), RNG)) == 1.0


@pytest.mark.parametrize("ends", [True, False])
def test_where_one_kind_is_missing_the_other_stands_in(ends):
    noise = make_reward_noise(np.arange(3.0), np.arange(3.0), np.full(3, ends))
    for pool in noise:
        np.testing.assert_array_equal(pool.draw(np.array([-9.0, 1.0, 9.0]), RNG), [0.0, 1.0, 2.0])
