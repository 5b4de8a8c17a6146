"""The chain: what a step does, and what it pays."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import chain
from ropeval.bench.data.worlds.table import TablePolicy


def test_steps_slip_and_ends_pay():
    table = chain.world()
    assert table.P[5, 1, 6] == pytest.approx(1 - chain.SLIP)
    assert table.P[5, 1, 4] == pytest.approx(chain.SLIP)
    last = chain.PLACES - 1
    assert table.P[last, 1, 0] == pytest.approx(1 - chain.SLIP)
    assert table.rewards[last, 1, 0] == chain.FAR
    assert table.rewards[0, 0, 0] == chain.NEAR
    assert table.rewards[5, 0, 4] == table.rewards[5, 1, 6] == -chain.COST
    assert not table.terminal.any()


def test_who_only_goes_back_collects_at_the_near_end():
    """Two steps of it, by hand."""
    table = chain.world()
    back = TablePolicy("back", table, np.tile([1.0, 0.0], (chain.PLACES, 1)))
    answer = table.answer(back, chain.GAMMA, time_limit=2)
    place = np.zeros(chain.PLACES)
    place[:4] = 0.25
    total = 0.0
    for _ in range(2):
        total += place[0] * ((1 - chain.SLIP) * chain.NEAR - chain.SLIP * chain.COST) - place[1:].sum() * chain.COST
        ahead, behind = np.roll(place, 1) * chain.SLIP, np.roll(place, -1) * (1 - chain.SLIP)
        ahead[0], behind[-1] = place[0] * (1 - chain.SLIP), 0.0
        place = ahead + behind
    assert answer.total == pytest.approx(total)
    assert answer.length == 2.0
