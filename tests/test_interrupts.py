"""Ctrl-C is never lost, never a traceback, and nobody's failure."""

import signal
import subprocess
import sys

import pytest

from ropeval.interrupts import heeded, stop_if_pressed


def lose_it(error: Exception | None = None) -> None:
    """As NumPy does, which turns it into an error of its own, and a destructor, which drops it."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        if error:
            raise error from None


def test_what_it_became_is_turned_back() -> None:
    with pytest.raises(KeyboardInterrupt), heeded(), heeded():
        lose_it(ValueError("setting an array element with a sequence."))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_stays_behind() -> None:
    before = sys.unraisablehook
    with heeded():
        assert sys.unraisablehook is not before
    assert sys.unraisablehook is before


def test_where_it_was_dropped_the_next_report_stops() -> None:
    with heeded():
        stop_if_pressed()
        lose_it()
        with pytest.raises(KeyboardInterrupt):
            stop_if_pressed()
    stop_if_pressed()  # it is over


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ValueError, match="mine"), heeded():
        raise ValueError("mine")


def test_a_job_in_the_background_is_not_interrupted() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with heeded():
            lose_it(ValueError("never"))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.process
def test_a_destructor_that_is_interrupted_says_nothing() -> None:
    """In a process of its own, since pytest watches what destructors raise."""
    code = """
import signal
from ropeval.interrupts import heeded, stop_if_pressed
class Thing:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
with heeded():
    thing = Thing()
    del thing
    try:
        stop_if_pressed()
    except KeyboardInterrupt:
        print("stopped")
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "stopped"
    assert not found.stderr


@pytest.mark.process
def test_while_the_program_is_still_starting() -> None:
    code = """
import sys
class Impatience:
    def find_spec(self, name, path=None, target=None):
        if name == "ropeval.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatience())
from ropeval.__main__ import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 130
    assert found.stderr == "interrupted\n"
