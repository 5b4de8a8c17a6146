"""A study's many small files as a few: to be shared and kept, a thirtieth of the size.

    STUDY/units/packed.rows.parquet      the rows of all units
    STUDY/units/packed.failed.json       what failed or was refused

Reports read them as they read those of single units, and `--resume` goes on from them. Curves stay where they are (they
are large, and each unit has steps of its own); those of units that trained nothing go.
"""

import json
from pathlib import Path

import polars as pl

from ropeval.bench.run.store import PACKED, failure_files
from ropeval.errors import UserError
from ropeval.files import locked, write_atomically, write_text


def pack(folder: Path) -> tuple[int, int]:
    """How many files there were before and after. Nothing is deleted before what replaces it is there."""
    units = folder / "units"
    with locked(folder / ".pack.lock") as alone:
        if not alone:
            raise UserError(f"{folder}: another process is packing it; wait for it")
        before = [path for path in sorted(units.iterdir()) if path.name.endswith((".parquet", ".failed.json"))]
        if not before:
            raise UserError(f"{folder}: nothing to pack; no unit has finished yet")
        if list((folder / "work").glob("*")) if (folder / "work").exists() else []:
            raise UserError(f"{folder}: units are in progress; let `ropeval bench run --resume` finish them first")
        frames = [pl.read_parquet(path, glob=False) for path in before if path.name.endswith(".rows.parquet")]
        curves = [path for path in before if path.name.endswith(".curves.parquet")]
        kept = [path for path in curves if pl.read_parquet(path, glob=False, n_rows=1).height]
        if frames:
            kept.append(units / f"{PACKED}.rows.parquet")
            write_atomically(kept[-1], lambda path: _write(pl.concat(frames, how="diagonal_relaxed"), path))
        failures = [content for _, content in failure_files(folder)]
        if failures:
            kept.append(units / f"{PACKED}.failed.json")
            write_text(kept[-1], json.dumps({"failures": failures}, indent=1, ensure_ascii=False))
        for path in before:
            if path not in kept:
                path.unlink()
    return len(before), len(kept)


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="zstd", compression_level=19, statistics=False)
