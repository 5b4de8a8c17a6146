"""The epidemic: binomials against their means, and an end when nobody is ill."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import epidemic


@pytest.mark.parametrize("action", range(3))
def test_cases_and_recoveries_are_as_many_as_expected(action):
    table = epidemic.world()
    places = {tuple(state): place for place, state in enumerate(table.observations)}
    healthy, ill = 15, 4
    here = places[healthy, ill]
    after = table.P[here, action] @ table.observations
    catches = 1 - (1 - epidemic.CONTACT[action]) ** ill
    assert after[0] == pytest.approx(healthy * (1 - catches))
    assert after[1] == pytest.approx(ill * (1 - epidemic.RECOVERY) + healthy * catches)
    reward = (table.P[here, action] * table.rewards[here, action]).sum()
    assert reward == pytest.approx(-epidemic.CASE * healthy * catches - epidemic.MEASURE[action])


def test_it_is_over_when_nobody_is_ill():
    table = epidemic.world()
    np.testing.assert_array_equal(table.terminal, table.observations[:, 1] == 0)
    assert table.d0[table.terminal].sum() == 0
    assert (table.observations.sum(axis=1) <= epidemic.VILLAGERS).all()
