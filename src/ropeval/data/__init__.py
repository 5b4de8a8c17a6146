"""From files to arrays ready to train on: `Dataset` (what was logged), `Transitions` (what is learned from)."""

from typing import TYPE_CHECKING, Any

from ropeval.data.columns import ColumnsWriter, open_columns, read_metadata, write_columns
from ropeval.data.dataset import Dataset
from ropeval.data.formats import load_dataset

if TYPE_CHECKING:
    from ropeval.data.transitions import Problem, Rows, Transitions, make_problem

__all__ = [
    "ColumnsWriter",
    "Dataset",
    "Problem",
    "Rows",
    "Transitions",
    "load_dataset",
    "make_problem",
    "open_columns",
    "read_metadata",
    "write_columns",
]


def __getattr__(name: str) -> Any:
    """What needs JAX is imported when it is first used: reading a log in a process of its own does not."""
    if name in ("Problem", "Rows", "Transitions", "make_problem"):
        from ropeval.data import transitions

        return globals().setdefault(name, getattr(transitions, name))
    raise AttributeError(f"module 'ropeval.data' has no attribute {name!r}")
