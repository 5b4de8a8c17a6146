"""Work side by side on an accelerator: while one lane compiles, or asks a policy, another one computes."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import jax

from ropeval.evaluation.result import Estimate
from ropeval.learning.engine import Aside, Told

Report = Callable[[int, str, float], None]  # (which estimate, stage, fraction done)
Answers = list[tuple[int, Estimate]]  # by the numbers of the questions
SPARE = 2  # threads that compile early


class Lane(NamedTuple):
    name: str
    at_once: int  # pieces of work
    work: Sequence[Callable[[Report | None, Aside | None], Answers]]


def side_by_side(lanes: Sequence[Lane], report: Report | None) -> dict[int, Estimate]:
    """What all lanes find. Where one fails, or Ctrl-C is pressed, what is at work ends at its next report of progress,
    and nothing is begun."""
    stop = Event()

    def told(number: int, stage: str, fraction: float) -> None:
        if stop.is_set():
            raise _Stopped
        if report:
            report(number, stage, fraction)

    running: list[Future[Answers]] = []
    with ExitStack() as pools:
        spare = pools.enter_context(ThreadPoolExecutor(SPARE, "compiling early"))
        aside = partial(_compile_early, spare, stop) if len(jax.devices()) == 1 else None  # more: it copies the log
        try:
            for lane in lanes:
                pool = pools.enter_context(ThreadPoolExecutor(lane.at_once, lane.name))
                running += [pool.submit(piece, told, aside) for piece in lane.work]
            return {number: one for answers in as_completed(running) for number, one in answers.result()}
        finally:  # what is left then is not needed: because something failed, or because all is answered
            stop.set()
            for each in running:
                each.cancel()


def _compile_early(spare: ThreadPoolExecutor, stop: Event, work: Callable[[Told], Any]) -> None:
    """What goes wrong here goes wrong again where it is needed, and is said there."""

    def told(stage: str, fraction: float) -> None:
        if stop.is_set():
            raise _Stopped

    def quietly() -> None:
        with suppress(Exception):
            told("", 0.0)
            work(told)

    spare.submit(quietly)


class _Stopped(Exception):
    """Because of what another lane, or the user, did."""
