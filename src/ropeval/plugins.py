"""Code of the user's own: Python files that add tasks or methods, imported once, with errors that name the file."""

import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
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
    look_in(path.parent)
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:  # the user's own code: say that it was theirs, and what it said
        raise UserError(f"{path}: this file failed: {type(error).__name__}: {error}") from error
    if Path(module.__file__ or "").resolve() != path:
        raise UserError(f"{path}: another module is called {path.stem} ({module.__file__}); give the file another name")
    return module


def look_in(folder: Path) -> None:
    """For what a task names, its environment and its policies; last of all. Collecting processes inherit it."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def import_named(name: str) -> Any:
    """Import a module by its name: from the working directory, where it is there, or from where packages lie.

    The working directory is not put before them. Whatever else is imported, now or later, is not looked for there
    first: a `polars.py` that happens to lie there does not become polars.
    """
    top = name.partition(".")[0]
    here = None if top in sys.modules else PathFinder.find_spec(top, [os.getcwd()])
    if here is not None and (here.loader is not None or find_spec(top) is None):  # a mere folder gives way to a package
        _import_spec(here, os.getcwd())
    return importlib.import_module(name)


def import_policy_file(path: Path) -> Any:
    """Import a Python file by its path. Others may have the same name: `old/rules.py` stands beside `new/rules.py`."""
    path = path.resolve()
    name = f"{path.stem} of {path.parent}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None
        _import_spec(spec, str(path.parent))
    return sys.modules[name]


def _import_spec(spec: ModuleSpec, folder: str) -> None:
    """Run the module that was found. What it imports itself may lie beside it, behind everything installed."""
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.append(folder)
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    finally:
        sys.path.remove(folder)


def load_methods() -> None:
    """Import what ROPEVAL_METHODS names, once. Such a file adds itself to ENCODERS or ESTIMATORS."""
    _load_methods(os.environ.get("ROPEVAL_METHODS", ""))


@cache
def _load_methods(named: str) -> None:
    for _ in plugins("ROPEVAL_METHODS", "ropeval.methods"):
        pass
