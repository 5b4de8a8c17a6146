"""Code of the user's own: Python files that add tasks or methods, imported once, with errors that name the file."""

import hashlib
import importlib.util
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
    """Import a Python file by its path, once, under a name of its own; its folder becomes importable."""
    if not path.is_file():
        raise UserError(f"{path}: no such file (named by {named_by})")
    path = path.resolve()
    name = f"ropeval_plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: not a Python file; its name must end in .py (named by {named_by})")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:  # so that `stem:policy` in its tasks can be imported, by workers as well
        sys.path.append(str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code: say that it was theirs, and what it said
        del sys.modules[name]
        raise UserError(f"{path}: this file failed: {type(error).__name__}: {error}") from error
    return module


@cache
def load_methods() -> None:
    """Import what ROPEVAL_METHODS names. Such a file adds itself to ENCODERS or ESTIMATORS."""
    for _ in plugins("ROPEVAL_METHODS", "ropeval.methods"):
        pass
