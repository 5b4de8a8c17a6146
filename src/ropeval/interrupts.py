"""Ctrl-C, where libraries lose it: NumPy turns it into a ValueError, and what a destructor raises is dropped.

Inside `heeded()` it is noted that it was pressed. Whatever a computation raises after that is the interruption, and one
that did not notice ends at its next report of progress.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

_pressed = False


def stop_if_pressed() -> None:
    if _pressed:
        raise KeyboardInterrupt


@contextmanager
def interruptible(again: str = "") -> Iterator[None]:
    """Ctrl-C ends the program with a word; `again`: the command that goes on from there."""
    global _pressed
    try:
        with heeded():
            yield
    except KeyboardInterrupt:
        _pressed = False  # it is said now, once
        print("interrupted" + (f"; {again} goes on from here" if again else ""), file=sys.stderr)
        sys.exit(130)


@contextmanager
def heeded() -> Iterator[None]:
    """May be nested: the outermost listens, and each turns the exceptions that leave it back into KeyboardInterrupt."""
    with _listening() if _nobody_else_does() else nullcontext():
        try:
            yield
        except Exception as error:
            if _pressed:
                raise KeyboardInterrupt from error
            raise


def _nobody_else_does() -> bool:
    """Not where it is to be ignored (a job in the background), nor where someone has plans of their own for it."""
    alone = threading.current_thread() is threading.main_thread()  # signals are the main thread's
    return alone and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def _listening() -> Iterator[None]:
    global _pressed
    speak = sys.unraisablehook

    def drop_quietly(unraisable: "sys.UnraisableHookArgs") -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            speak(unraisable)

    signal.signal(signal.SIGINT, _note)
    sys.unraisablehook = drop_quietly
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = speak
        _pressed = False


def _note(signum: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt
