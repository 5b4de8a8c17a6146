"""Threads whose work is done together: everyone waits for everyone who is still there."""

from functools import partial
from threading import Lock, current_thread
from time import sleep

import pytest

from ropeval.learning.company import in_company as all_in_company


def together(works):
    return [(work, tuple(works), current_thread().name) for work in works]


def in_company(size, one, at_once=None):
    return all_in_company([partial(one, place) for place in range(size)], at_once)


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


def test_who_leaves_because_something_went_wrong_takes_all_with_it():
    """Nobody goes on in a smaller company; what was done together before stays."""
    found = []

    def one(place, seat):
        found.append(seat.meet(place, together)[1])
        if place == 1:
            raise ValueError("broken")
        found.append(seat.meet(place, together)[1])

    with pytest.raises(ValueError, match="broken"):
        in_company(3, one)
    assert found == [(0, 1, 2)] * 3


def test_who_has_not_begun_when_something_went_wrong_does_not_begin():
    begun = []

    def one(place, seat):
        begun.append(place)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        in_company(3, one, at_once=1)
    assert len(begun) == 1


@pytest.mark.parametrize("at_once", [1, 2])
def test_who_waits_for_company_leaves_its_room_to_another_one(at_once):
    lock, here, most = Lock(), set(), []

    def one(place, seat):
        def work():
            with lock:
                here.add(place)
                most.append(len(here))
            sleep(0.01)
            with lock:
                here.remove(place)

        work()
        found = seat.meet(place, together)[1]
        work()
        return found

    assert in_company(4, one, at_once) == [(0, 1, 2, 3)] * 4
    assert max(most) == at_once
