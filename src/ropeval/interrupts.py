"""Ctrl-C, where libraries lose it: NumPy turns it into a ValueError, and what a destructor raises is dropped.

Inside `heeded()` it is noted that it was pressed. Whatever a computation raises after that is the interruption, and one
that did not notice ends at its next report of progress.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pressed = False


def stop_if_pressed() -> None:
    if _pressed:
        raise KeyboardInterrupt


@contextmanager
def heeded() -> Iterator[None]:
    """May be nested: the outermost listens, and each turns the exceptions that leave it back into KeyboardInterrupt."""
    listens = _nobody_else_does()
    if listens:
        _listen()
    try:
        yield
    except Exception as error:
        if _pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        if listens:
            _stop_listening()


def _nobody_else_does() -> bool:
    """Not where it is to be ignored (a job in the background), nor where someone has plans of their own for it."""
    alone = threading.current_thread() is threading.main_thread()  # signals are the main thread's
    return alone and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _listen() -> None:
    global _pressed
    _pressed = False
    signal.signal(signal.SIGINT, _note)
    sys.unraisablehook = _drop_quietly


def _stop_listening() -> None:
    global _pressed
    _pressed = False
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = sys.__unraisablehook__


def _note(signum: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt


def _drop_quietly(unraisable: "sys.UnraisableHookArgs") -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
