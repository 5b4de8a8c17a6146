"""True values from a file, where they are known."""

import sys
from pathlib import Path

from ropeval.errors import UserError
from ropeval.files import load_json

LARGEST = sys.float_info.max


def read_truth(path: Path, policies: list[str]) -> dict[str, float]:
    """True values by the names of the policies, from a JSON file."""
    if not path.exists():
        raise UserError(f"{path}: no such file of true values")
    known = load_json(path)
    if not isinstance(known, dict):
        raise UserError(f'{path}: expected an object of names and values, for example {{"policy": 12.3}}')
    for name, value in known.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise UserError(f"{path}: the true value of {name!r} is {value!r}; it must be a finite number")
    found = {name: float(known[name]) for name in policies if name in known}
    if not found:
        raise UserError(
            f"{path}: it holds no value for {', '.join(map(repr, policies))}; found {', '.join(known) or 'nothing'}"
        )
    return found
