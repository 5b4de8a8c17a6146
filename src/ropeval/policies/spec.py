"""How a policy is named on the command line: `[NAME=]FILE[+STATISTICS][@MODE]`, or a word in the place of the file."""

from pathlib import Path
from typing import NamedTuple

from ropeval.errors import UserError
from ropeval.policies.policy import MODES, Mode


class Spec(NamedTuple):
    name: str | None  # None: the file's
    file: str
    statistics: str | None
    mode: Mode | None


def parse_spec(text: str) -> Spec:
    """The spec's parts. A file may be called anything, so what exists under a name is a file before it is a spec."""
    name, equals, rest = text.partition("=")
    whole = _parse_file(text)
    if equals and name and not exists(whole.file) and not set(name) & {"/", "\\"}:
        return _parse_file(rest)._replace(name=name)
    return whole


def _parse_file(text: str) -> Spec:
    mode: Mode | None = None
    head, at, tail = text.rpartition("@")
    if at and tail in MODES:
        text, mode = head, tail
    elif at and not exists(text) and exists(head.rpartition("+")[0] or head):
        raise UserError(f"policy {text}: unknown action mode {tail!r}; choose from: {', '.join(MODES)}")
    if not exists(text) and "+" in text:
        file, _, statistics = text.rpartition("+")
        return Spec(None, file, statistics, mode)
    return Spec(None, text, None, mode)


def exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False
