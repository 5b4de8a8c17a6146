"""The shop: what its policies say they do, and what a day earns."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import inventory


def test_propensities_are_frequencies():
    table = inventory.world()
    policy = inventory.policies.fair
    seen = np.repeat(table.observations[[0, 40, 100]], 20_000, axis=0).astype(np.float32)
    actions = policy.sample(seen, np.random.default_rng(0)).reshape(3, -1)
    for state in range(3):
        said = np.exp([policy.log_prob(seen[[state * 20_000]], np.array([a]))[0] for a in range(5)])
        counted = np.bincount(actions[state], minlength=5) / 20_000
        np.testing.assert_allclose(counted, said, atol=4 * 0.5 / 20_000**0.5)
        assert said.sum() == pytest.approx(1.0)


def test_a_day_earns_what_is_sold_less_what_was_ordered_and_stored():
    table = inventory.world()
    here = 10 * 7 + 6  # ten pieces on a Sunday, when one is wanted on average
    monday = (table.observations[:, 1] == 0) & (table.P[here, 1] > 0)
    left = table.observations[monday, 0]
    cost = 3 * inventory.PIECE + inventory.DELIVERY
    np.testing.assert_allclose(
        table.rewards[here, 1][monday], inventory.PRICE * (13 - left) - cost - inventory.STORAGE * left
    )
    assert table.P[here, 1][monday] @ (13 - left) == pytest.approx(inventory.DEMAND[6], rel=1e-6)
    assert table.P[here, 1][monday].sum() == pytest.approx(1.0)
