"""What people hand over instead of a log that is read: what it is, and what to do about it."""

from pathlib import Path

from ropeval.data.readers.csv import SEPARATORS

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
PICKLED = "a pickle, which is a program and is not run; where it was made, write the frame with to_parquet, or arrays "
STARTS = {
    b"\x93NUMPY": "a single array; write all columns into one file: np.savez('log.npz', observations=…, actions=…, …)",
    b"\x80": PICKLED + "with np.savez",
    b"ARROW1": "an Arrow file (Feather); write it as Parquet: pandas.read_feather(FILE).to_parquet('log.parquet')",
    b"SQLite": "a database; export the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV UTF-8",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8 (Excel: CSV UTF-8)",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8 (Excel: CSV UTF-8)",
}
WORKBOOKS = (".xlsx", ".xlsm", ".ods")  # zips, as .npz is


def about_file(path: Path, start: bytes) -> str | None:
    """None where nothing is known of it."""
    if not start:
        return "the file is empty; copy it again"
    packed = next((name for mark, name in PACKED.items() if start.startswith(mark)), None)
    if packed:
        return f"packed with {packed}; unpack it first"
    known = next((about for mark, about in STARTS.items() if start.startswith(mark)), None)
    if known:
        return f"this is {known}"
    first = start.decode("utf-8", errors="replace").split("\n")[0].strip()
    if path.suffix in (".csv", ".tsv", ".txt"):
        marks = ", ".join({"\t": "tab"}.get(mark, mark) for mark in SEPARATORS)
        return f"its first line is {first[:60]!r}; it must hold the names of the columns, with one of {marks} between"
    return None


def about_folder(folder: Path) -> str | None:
    if any(folder.glob("*.csv")):
        return f"a folder of CSV; make one file of it: polars.read_csv('{folder}/*.csv').write_parquet('log.parquet')"
    return None
