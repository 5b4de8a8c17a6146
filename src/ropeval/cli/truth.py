"""True values from a file, where they are known."""

from pathlib import Path

from ropeval.errors import UserError
from ropeval.evaluation.rank import Truth, checked_truth
from ropeval.files import load_json


def read_truth(path: Path, policies: list[str]) -> Truth:
    """True values by the names of the policies, from a JSON file."""
    if not path.exists():
        raise UserError(f"{path}: no such file of true values")
    return checked_truth(load_json(path), policies, str(path))
