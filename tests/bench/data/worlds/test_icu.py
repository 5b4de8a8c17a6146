"""Intensive care: treatments help the sign they are for, and the healthy go home."""

import numpy as np
import pytest

from ropeval.bench.data.worlds import icu

WELL = (icu.NORMAL, icu.NORMAL, 1, 0)


@pytest.fixture(scope="module")
def place():
    table = icu.world()
    places = {tuple(seen): number for number, seen in enumerate(table.observations[:-2])}
    return lambda signs, diabetic=0, on=(0, 0, 0): places[(*signs, diabetic, *on)]


def test_signs_that_are_abnormal():
    assert icu.abnormal(WELL) == 0
    assert icu.abnormal((icu.HIGH, icu.LOW, 0, 2)) == 4


@pytest.mark.parametrize("diabetic", [0, 1])
def test_who_is_well_and_untreated_goes_home(place, diabetic):
    table = icu.world()
    dead, home = len(table.P) - 2, len(table.P) - 1
    dies = icu.DEATH[0] * (1.5 if diabetic else 1.0)
    here = place(WELL, diabetic)
    assert table.P[here, 0, home] == pytest.approx((1 - dies) * icu.GOES_HOME)
    assert table.P[here, 0, dead] == pytest.approx(dies)
    assert table.P[here, icu.ANTIBIOTICS, home] == 0
    assert table.rewards[here, 0, home] == icu.HOME
    assert table.rewards[here, 7, dead] == pytest.approx(icu.DEAD - 3 * icu.BURDEN)


@pytest.mark.parametrize(
    ("sign", "ill", "drug"),
    [(0, icu.HIGH, icu.ANTIBIOTICS), (1, icu.LOW, icu.VASOPRESSORS), (2, 0, icu.VENTILATION)],
)
def test_a_treatment_helps_the_sign_it_is_for(place, sign, ill, drug):
    table = icu.world()
    here = place((*WELL[:sign], ill, *WELL[sign + 1 :]))
    normal = table.observations[:, sign] == WELL[sign]
    normal[-2:] = False
    assert table.P[here, drug][normal].sum() > 2 * table.P[here, 0][normal].sum()


def test_the_admitted_are_untreated_with_two_or_three_abnormal_signs():
    table = icu.world()
    for seen in table.observations[np.flatnonzero(table.d0)]:
        assert icu.abnormal(tuple(map(int, seen[:4]))) in (2, 3)
        assert not seen[5:].any()
    assert table.d0[:-2][table.observations[:-2, 4] == 1].sum() == pytest.approx(0.2)
