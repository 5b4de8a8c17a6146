"""Code of the user's own: Python files that add tasks or methods, imported once, with errors that name the file."""

import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ropeval.errors import UserError


def plugins(variable: str, group: str) -> Iterator[tuple[str, Any]]:
    """(origin, module) of every file that the environment variable names (separated like PATH), and of every entry
    point that an installed package has in the group."""
    for point in entry_points(group=group):
        yield f"entry point {point.name}", point.load()
    for path in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        yield path, import_file(Path(path), variable)


def import_file(path: Path, named_by: str) -> Any:
    """Import a Python file by its path, as the module of its name: `stem:policy` means it in workers, too."""
    if not path.is_file():
        raise UserError(f"{path}: no such file (named by {named_by})")
    if path.suffix != ".py":
        raise UserError(f"{path}: not a Python file; its name must end in .py (named by {named_by})")
    path = path.resolve()
    if str(path.parent) not in sys.path:  # collecting processes inherit it
        sys.path.append(str(path.parent))
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:  # the user's own code: say that it was theirs, and what it said
        raise UserError(f"{path}: this file failed: {type(error).__name__}: {error}") from error
    if Path(module.__file__ or "").resolve() != path:
        raise UserError(f"{path}: another module is called {path.stem} ({module.__file__}); give the file another name")
    return module


def load_methods() -> None:
    """Import what ROPEVAL_METHODS names, once. Such a file adds itself to ENCODERS or ESTIMATORS."""
    _load_methods(os.environ.get("ROPEVAL_METHODS", ""))


@cache
def _load_methods(named: str) -> None:
    for _ in plugins("ROPEVAL_METHODS", "ropeval.methods"):
        pass
