"""From files to arrays ready to train on: `Dataset` (what was logged), `Transitions` (what is learned from)."""

from ropeval.data.dataset import Dataset
from ropeval.data.formats import load_dataset
from ropeval.data.transitions import Problem, Rows, Transitions, make_problem

__all__ = ["Dataset", "Problem", "Rows", "Transitions", "load_dataset", "make_problem"]
