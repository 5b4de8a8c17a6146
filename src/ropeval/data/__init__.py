"""From files to arrays ready to train on: `Dataset` (what was logged), `Transitions` (what is learned from)."""

from typing import TYPE_CHECKING

from ropeval.data.columns import ColumnsWriter, open_columns, read_metadata, write_columns
from ropeval.data.dataset import Dataset
from ropeval.data.formats import LogLike, load_dataset
from ropeval.lazy import import_when_used

if TYPE_CHECKING:
    from ropeval.data.problem import Log, Problem, make_problem
    from ropeval.data.transitions import Rows, Transitions, expected

__all__ = [
    "ColumnsWriter",
    "Dataset",
    "Log",
    "LogLike",
    "Problem",
    "Rows",
    "Transitions",
    "expected",
    "load_dataset",
    "make_problem",
    "open_columns",
    "read_metadata",
    "write_columns",
]

# These need JAX; reading a log in a process of its own does not.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.data.problem": ("Log", "Problem", "make_problem"),
        "ropeval.data.transitions": ("Rows", "Transitions", "expected"),
    },
)
