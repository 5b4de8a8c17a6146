"""Formats of logs: one file each, one line here. The first that recognises a log reads it; lists of them, in messages
and in `--help`, are made from here."""

from ropeval.data.readers.format import LogFormat
from ropeval.data.readers.hdf5 import HDF5
from ropeval.data.readers.minari import MINARI
from ropeval.data.readers.npz import NPZ
from ropeval.data.readers.own import OWN
from ropeval.data.readers.table import CSV, PARQUET

FORMATS: tuple[LogFormat, ...] = (MINARI, HDF5, NPZ, PARQUET, CSV, OWN)

__all__ = ["FORMATS", "LogFormat"]
