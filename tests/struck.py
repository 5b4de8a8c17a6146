"""The program in a process of its own, struck by a signal right after one of its functions has returned.

Whoever waits for a file and then kills may come too late: the machine decides. Here the place decides.
"""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from typing import Any


def start(
    how: int, place: str, *words: str, nth: int = 1, given: str | None = None, **options: Any
) -> "subprocess.Popen[str]":
    """`ropeval WORDS`, struck after the n-th call of `place`, module:Class.method, or of those that are given this."""
    command = [sys.executable, "-m", "tests.struck", json.dumps([how, place, nth, given]), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **options.pop("env", {})}
    return subprocess.Popen(command, env=environment, text=True, **options)


def _lay_in_wait(how: int, place: str, nth: int, given: str | None) -> None:
    module, _, path = place.partition(":")
    owner, _, name = path.rpartition(".")
    found = attrgetter(owner)(import_module(module))
    deed, left = getattr(found, name), nth

    def struck(*arguments: Any) -> Any:
        nonlocal left
        done = deed(*arguments)
        left -= given is None or given in arguments
        if left == 0:
            signal.raise_signal(how)
        return done

    setattr(found, name, struck)


if __name__ == "__main__":
    _lay_in_wait(*json.loads(sys.argv[1]))
    del sys.argv[1]
    from ropeval.__main__ import main

    main()
