"""From files to arrays ready to train on: `Dataset` (what was logged), `Transitions` (what is learned from)."""

from typing import TYPE_CHECKING

from ropeval.lazy import import_when_used

if TYPE_CHECKING:
    from ropeval.data.columns import ColumnsWriter, open_columns, read_metadata, write_columns
    from ropeval.data.dataset import Dataset
    from ropeval.data.formats import LogLike, load_dataset
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

# Help lists the formats without NumPy; and reading a log in a process of its own needs no JAX.
__getattr__ = import_when_used(
    __name__,
    {
        "ropeval.data.columns": ("ColumnsWriter", "open_columns", "read_metadata", "write_columns"),
        "ropeval.data.dataset": ("Dataset",),
        "ropeval.data.formats": ("LogLike", "load_dataset"),
        "ropeval.data.problem": ("Log", "Problem", "make_problem"),
        "ropeval.data.transitions": ("Rows", "Transitions", "expected"),
    },
)
