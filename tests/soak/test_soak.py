"""What the soak calls growth, and that a round is an evaluation."""

import pytest

from tests.soak.campaign import Held, grown, held, in_one_process, per_hundred


def rounds(**last):
    return [Held(100, 5, 3, 0)] * 6 + [Held(100, 5, 3, 0)._replace(**last)] * 3


@pytest.mark.parametrize(("last", "found"), [({"files": 6}, "files: from 5 to 6"), ({"memory": 1 << 30}, "memory")])
def test_what_grows_is_named(last, found):
    assert grown(rounds(**last))[0].startswith(found)


def test_what_stays_or_was_taken_at_first_is_no_growth(tmp_path):
    assert grown(rounds()) == []
    assert grown([Held(10, 1, 1, 0)] * 3 + rounds()[:6]) == []
    assert held(tmp_path).temporary == 0
    assert in_one_process(0.0, tmp_path) == []


def test_growth_is_told_per_hundred_evaluations():
    leaking = [Held(5_000 - 10 * i, 5, 3, 0) for i in range(10)] + [Held(100 + 7 * i, 5, 3, i) for i in range(20)]
    assert per_hundred(leaking) == pytest.approx({"memory": 700, "files": 0, "threads": 0, "temporary": 100}, abs=1e-6)
    assert per_hundred(leaking[:1]) == {}
