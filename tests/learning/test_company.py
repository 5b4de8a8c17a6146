"""Threads whose work is done together: everyone waits for everyone who is still there."""

from concurrent.futures import ThreadPoolExecutor
from threading import current_thread
from time import sleep

import pytest

from ropeval.learning.company import Company

WAIT = 20.0  # seconds; nobody should need them


def together(works):
    return [(work, tuple(works), current_thread().name) for work in works]


def in_company(size, one):
    company = Company(size)

    def seated(place):
        with company.seat(place) as seat:
            return one(place, seat)

    with ThreadPoolExecutor(size) as pool:
        return [future.result(WAIT) for future in [pool.submit(seated, place) for place in range(size)]]


def test_all_work_is_done_at_once_in_the_order_of_places():
    def one(place, seat):
        sleep(0.02 * (3 - place))  # the last comes first
        return seat.meet(place * 10, together)

    found = in_company(4, one)
    assert [work for work, _, _ in found] == [0, 10, 20, 30]
    assert {all_ for _, all_, _ in found} == {(0, 10, 20, 30)}
    assert len({name for _, _, name in found}) == 1


def test_who_leaves_is_not_waited_for():
    """The second never brings anything, the third brings something once; the others meet three times."""

    def one(place, seat):
        if place == 1:
            sleep(0.05)
            return []
        return [seat.meet((place, turn), together)[1] for turn in range(1 if place == 2 else 3)]

    found = in_company(4, one)
    assert (
        found[0]
        == found[3]
        == [
            ((0, 0), (2, 0), (3, 0)),
            ((0, 1), (3, 1)),
            ((0, 2), (3, 2)),
        ]
    )
    assert found[2] == found[0][:1]


def test_what_goes_wrong_is_raised_everywhere_and_the_next_work_is_done():
    def fail(works):
        raise ValueError("no")

    def one(place, seat):
        with pytest.raises(ValueError, match="no"):
            seat.meet(place, fail)
        return seat.meet(place, together)[1]

    assert in_company(3, one) == [(0, 1, 2)] * 3


def test_alone_it_is_done_at_once():
    assert in_company(1, lambda place, seat: seat.meet("work", together)[0]) == ["work"]
