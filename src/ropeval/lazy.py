"""Public names that are imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def import_when_used(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """A package's `__getattr__`. `homes`: module -> its names that the package offers as its own."""

    def find(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return vars(sys.modules[package]).setdefault(name, getattr(importlib.import_module(home), name))
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
