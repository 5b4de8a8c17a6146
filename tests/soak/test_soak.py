"""What the soak calls growth, and that a round is an evaluation."""

import pytest

from tests.soak.campaign import OWN_SIZE_EVERY, Held, episodes, grown, held, in_one_process, per_hundred, releases

ALLOWED = 8000  # areas
CALM = Held(100, 1500, 5, 3, 0)
TOOTH = [CALM._replace(areas=areas) for areas in (1500, 2700, 3900)]  # compiled, and let go at the next round


def rounds(**last):
    return TOOTH * 4 + [one._replace(**last) for one in TOOTH * 2]


@pytest.mark.parametrize(("last", "found"), [({"files": 6}, "files: from 5 to 6"), ({"memory": 1 << 30}, "memory")])
def test_what_grows_is_named(last, found):
    assert grown(rounds(**last), ALLOWED)[0].startswith(found)


def test_what_stays_or_was_taken_at_first_is_no_growth(tmp_path):
    assert grown(rounds(), ALLOWED) == []
    assert grown([Held(10, 10, 1, 1, 0)] * 6 + rounds()[:12], ALLOWED) == []
    assert held(tmp_path).temporary == 0
    assert held(tmp_path).areas > 10
    assert in_one_process(0.0, tmp_path) == []


def test_programs_must_be_let_go_and_until_then_they_may_take_memory():
    rising = [CALM._replace(memory=i << 30, areas=1500 + 100 * i) for i in range(24)]
    assert (releases(rising), releases(rounds())) == (0, 5)
    assert grown(rising, ALLOWED) == []
    assert grown(rising, 4000) == ["areas: 3,800 of 4,000"]


def test_most_rounds_share_their_size_and_the_others_have_their_own():
    sizes = [episodes(number) for number in range(10 * OWN_SIZE_EVERY)]
    own = [size for size in sizes if size != 20]
    assert len(set(own)) == len(own) == 10


def test_growth_is_told_per_hundred_evaluations():
    leaking = [Held(5_000 - 10 * i, 9, 5, 3, 0) for i in range(10)] + [Held(100 + 7 * i, 9, 5, 3, i) for i in range(20)]
    expected = {"memory": 700, "areas": 0, "files": 0, "threads": 0, "temporary": 100}
    assert per_hundred(leaking) == pytest.approx(expected, abs=1e-6)
    assert per_hundred(leaking[:1]) == {}
