"""The one exception that is the user's to mend: the command line prints it and leaves with exit code 2."""

import errno
import re
from difflib import get_close_matches

from ropeval.words import clean

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what a disk says that is full, or too full for this user

LONGEST = 1_000  # characters: a message may quote a file, and a file may hold anything


class UserError(ValueError):
    """Bad input. The message names the file, the field, what was found and what to do, on one line."""

    def __init__(self, message: str):
        line = clean(" ".join(message.splitlines()))
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST - 200]} … {line[-200:]}")


def unknown_name(kind: str, name: str, choices: "list[str]") -> UserError:
    """What is spelt nearly like it comes first, the rest in the order of the alphabet."""
    near = get_close_matches(bare(name), {bare(choice): choice for choice in choices}, 3)
    meant = sorted((choice for choice in choices if bare(choice) in near), key=lambda choice: near.index(bare(choice)))
    question = f"did you mean {meant[0]}? " if meant else ""
    listed = ", ".join(dict.fromkeys([*meant, *sorted(choices)]))
    return UserError(f"unknown {kind} {name!r}; {question}choose from: {listed}")


def bare(name: str) -> str:
    """A name without what people write otherwise: case, underscores, hyphens, blanks."""
    return re.sub(r"[\s_-]", "", str(name).lower())


def first_line(error: BaseException) -> str:
    """Of what a library says; its name where it says nothing."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def either(choices: "list[str]") -> str:
    """A list in a sentence: `a, b, or c`."""
    return ", ".join([*choices[:-1], f"or {choices[-1]}"]) if len(choices) > 1 else "".join(choices)
