"""What reaches the terminal: names from files are words there, never commands to it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ropeval.words import clean


class Screen(Console):
    """Rich's console, without the control characters of what it is given. (Tables are cleaned by `to_terminal`.)"""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(clean(text), **how)


def stderr() -> Screen:
    return Screen(stderr=True)


def say(words: object, file: TextIO | None = None) -> None:
    """One line, as it is: neither coloured nor broken."""
    print(clean(str(words)), file=file)


@contextmanager
def heard_or_not() -> Iterator[list[OSError]]:
    """A reader of standard output who went away (`ropeval … | head -2`) ends the printing, not the work; nor does a
    full disk behind it, which is told by the list."""
    lost: list[OSError] = []
    try:
        yield lost
        sys.stdout.flush()
    except (OSError, SystemExit) as error:  # Rich makes the second of a reader who left
        lost += [error] if isinstance(error, OSError) and not isinstance(error, BrokenPipeError) else []
        drop_stdout()


def drop_stdout() -> None:
    """From here on nothing is printed; otherwise Python would try once more on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
