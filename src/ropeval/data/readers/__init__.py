"""Formats of logs: one file each, one line here. The first that recognises a log reads it; lists of them, in messages
and in `--help`, are made from here."""

from ropeval.data.readers.format import LogFormat

FORMATS = (
    LogFormat("Minari dataset", "a Minari dataset (folder, or id of the local cache)", "minari", foreign=True),
    LogFormat("HDF5", "HDF5 of D4RL or d3rlpy", "hdf5", (".hdf5", ".h5"), foreign=True),
    LogFormat(".npz", ".npz (or a folder of them)", "npz", (".npz",)),
    LogFormat("Parquet", "Parquet (or a folder of it)", "parquet", (".parquet",), foreign=True),
    LogFormat("JSON", "JSON lines", "jsonl", (".jsonl", ".ndjson"), guessed=True, foreign=True),
    LogFormat("CSV", "CSV", "csv", (".csv", ".tsv"), guessed=True),
    LogFormat("ropeval's own folder", "ropeval's own folder of columns", "own"),
)

__all__ = ["FORMATS", "LogFormat"]
