"""The registry of tasks. A new task is one file: here, in a folder of yours, or in an installed package.

A task file defines `TASKS`, a list of `Task`. Files in this folder are found by themselves. Files elsewhere are named
by `ROPEVAL_TASKS` (separated like PATH), or by a package's entry point in the group `ropeval.tasks`. Wherever a
task is named, `module:NAME` or `file.py:NAME` works as well.
"""

import fnmatch
import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ropeval.bench.data.tasks.task import RANDOM, PolicySource, Split, Task, paper_task
from ropeval.errors import UserError, unknown_name
from ropeval.plugins import import_file, import_named, look_in, plugins

__all__ = ["RANDOM", "PolicySource", "Split", "Task", "all_tasks", "find_task", "find_tasks", "paper_task"]

VARIABLE, GROUP = "ROPEVAL_TASKS", "ropeval.tasks"


def all_tasks() -> dict[str, Task]:
    """Every task there is, by name."""
    registry: dict[str, Task] = {}
    for origin, module in _modules():
        for task in _tasks_of(module, origin):
            if task.name in registry and registry[task.name] != task:
                raise UserError(f"{origin}: defines the task {task.name}, which exists already; choose another name")
            registry[task.name] = task
    return registry


def find_task(name: str) -> Task:
    """The task of that name, or the one that `module:NAME` or `file.py:NAME` points at."""
    if ":" in name:
        return _pointed_at(name)
    registry = all_tasks()
    if name not in registry:
        raise unknown_name("task", name, list(registry))
    return registry[name]


def find_tasks(patterns: Sequence[str]) -> list[Task]:
    """The tasks that the words name: names, `d4rl/*`, `module:NAME`. In order, each once."""
    found: dict[str, Task] = {}
    registry = all_tasks()
    for pattern in patterns:
        matches = [task for name, task in registry.items() if fnmatch.fnmatchcase(name, pattern)]
        if not matches and any(sign in pattern for sign in "*?["):
            raise UserError(f"no task matches {pattern!r}; there are: {', '.join(sorted(registry))}")
        found |= {task.name: task for task in matches or [find_task(pattern)]}
    return list(found.values())


def _modules() -> Iterable[tuple[str, Any]]:
    for entry in pkgutil.iter_modules(__path__):
        if entry.name != "task":
            yield f"{__name__}.{entry.name}", importlib.import_module(f"{__name__}.{entry.name}")
    yield from plugins(VARIABLE, GROUP)


def _tasks_of(module: Any, origin: str) -> list[Task]:
    tasks = module if isinstance(module, list) else getattr(module, "TASKS", None)
    if not isinstance(tasks, list) or not all(isinstance(task, Task) for task in tasks):
        raise UserError(f"{origin}: a file of tasks defines TASKS, a list of ropeval.bench.data.tasks.Task")
    return tasks


def _pointed_at(text: str) -> Task:
    place, _, attribute = text.rpartition(":")
    if place.endswith(".py"):
        module = import_file(Path(place), "FILE.py:NAME")
    else:
        try:
            module = import_named(place)
        except Exception as error:  # not there, or the user's own module failed
            raise UserError(f"task {text}: cannot import it ({type(error).__name__}: {error})") from error
        look_in(Path.cwd())
    found = getattr(module, attribute, None)
    if isinstance(found, Task):
        return found
    named = {task.name: task for task in getattr(module, "TASKS", []) if isinstance(task, Task)}
    if attribute in named:
        return named[attribute]
    raise UserError(f"task {text}: {place} holds no Task called {attribute}; its tasks: {', '.join(named) or 'none'}")
