"""From files to arrays ready to train on: `Dataset` (what was logged), `Transitions` (what is learned from)."""

from ropeval.data.columns import ColumnsWriter, open_columns, read_metadata, write_columns
from ropeval.data.dataset import Dataset
from ropeval.data.formats import load_dataset
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
