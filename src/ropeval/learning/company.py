"""Threads that come to the same work at about the same time, and have it done together."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Condition, Semaphore
from types import TracebackType
from typing import Any, TypeVar

Work = TypeVar("Work")
Done = TypeVar("Done")


def in_company(work: Sequence[Callable[["Seat"], Done]], at_once: int | None = None) -> list[Done]:
    """Each piece of work in a thread of its own, all of them in one company; what one of them raises, all raise.

    at_once   how many are at work on their own (None: all); who waits for company leaves its room to another one
    """
    company = Company(len(work), at_once)

    def seated(place: int) -> Done:
        with company.seat(place) as seat:
            company.check()
            return work[place](seat)

    if len(work) == 1:
        return [seated(0)]
    with ThreadPoolExecutor(len(work), "in company") as pool:
        return list(pool.map(seated, range(len(work))))


class Company:
    """Whoever brings work waits until everyone who is still there has brought some; one of them then does it all. The
    same company always comes together in the same way, whichever thread is the fastest."""

    def __init__(self, size: int, at_once: int | None = None):
        self.rooms = Semaphore(at_once or size)
        self._here = set(range(size))
        self._brought: dict[int, Any] = {}
        self._done: dict[int, Any] = {}
        self._broken: BaseException | None = None
        self._changed = Condition()

    def seat(self, place: int) -> "Seat":
        return Seat(self, place)

    def check(self) -> None:
        """Raises what broke the company, if anything did."""
        if self._broken:
            raise self._broken

    def meet(self, place: int, work: Work, do: Callable[[Sequence[Work]], Sequence[Done]]) -> Done:
        """`do` is given what all have brought, in the order of their places, and gives as much back. What it raises is
        raised everywhere."""
        with self._changed:
            self._brought[place] = work
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._broken or place in self._done or self._leads(place))
            if place not in self._done:
                self.check()
            together = sorted(self._brought.items()) if place not in self._done else []
        if together:
            places, works = zip(*together, strict=True)
            try:
                found: Sequence[Any] = do(works)
            except BaseException as error:
                found = [_Raised(error)] * len(works)
            with self._changed:
                self._brought.clear()
                self._done |= dict(zip(places, found, strict=True))
                self._changed.notify_all()
        mine = self._done.pop(place)
        if isinstance(mine, _Raised):
            raise mine.error
        return mine

    def leave(self, place: int, because: BaseException | None = None) -> None:
        """Others go on without it; but where it left because something went wrong, a smaller company would come to
        something else, and so nobody goes on."""
        with self._changed:
            self._here.discard(place)
            self._broken = self._broken or because
            self._changed.notify_all()

    def _leads(self, place: int) -> bool:
        """The first of all, when the last one has come and what was done before is taken away."""
        return not self._done and self._brought.keys() >= self._here and place == min(self._brought)


class Seat(AbstractContextManager["Seat"]):
    """One thread's place in a company; nobody waits for it once it is left."""

    def __init__(self, company: Company, place: int):
        self._company, self._place = company, place

    def meet(self, work: Work, do: Callable[[Sequence[Work]], Sequence[Done]]) -> Done:
        self._company.rooms.release()
        try:
            return self._company.meet(self._place, work, do)
        finally:
            self._company.rooms.acquire()

    def __enter__(self) -> "Seat":
        self._company.rooms.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._company.leave(self._place, error)
        self._company.rooms.release()


class _Raised:
    def __init__(self, error: BaseException):
        self.error = error
