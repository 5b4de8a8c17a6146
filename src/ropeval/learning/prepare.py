"""What depends on the log alone is trained once, and serves every policy: in this run, and when it is resumed."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ropeval.data import Log
from ropeval.learning.engine import Run
from ropeval.settings import Config

Made = TypeVar("Made")


def prepared(make: Callable[[Log, Config, Run], Made], log: Log, config: Config, run: Run) -> Made:
    """`make(log, config, run)`, or what it gave when it was last asked with the same log, configuration and run.

    Whose question came first does not matter: the policy is not there to be seen. Its checkpoints lie apart from those
    of single questions, and stay until all are answered.
    """
    identity = (make.__module__, make.__qualname__, type(config).__qualname__, config.model_dump_json(), run.identity)
    name = f"{run.part}-{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}"
    saved = run.shared or run.checkpoint
    own = replace(run, checkpoint=saved.under(name) if saved else None, seat=None)  # the others wait for this
    return log.once(identity, lambda: make(log, config, own))
