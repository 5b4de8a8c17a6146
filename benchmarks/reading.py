"""How long a log takes to read, beside the libraries that decode it: polars and h5py, bare, the same columns.

    python -m benchmarks.reading                      2 million rows
    python -m benchmarks.reading --millions 20        about 2 GB per file in the folder of TMPDIR

The log is made up: 11 observations, 3 actions, episodes of 1,000 steps (as Hopper's), float32; HDF5 as it is, as it is
with `next_observations` inside, so that no row has to move, and compressed as D4RL's files are. Every reading is a
process of its own, the file in the machine's cache, all readers in turn; the best of some is kept. Three readers:

    bare      polars or h5py: arrays of NumPy, a matrix of the observations and one of the actions among them; nobody
              looks at them
    by hand   the same, and what anybody must do who wants to learn from them, in plain NumPy: look whether every value
              is finite, find every step's successor, leave out steps that have none
    ropeval   the same log as by hand; HDF5 and Parquet are read in a process that may die of them

The seconds of imports are taken off on every side. CPU seconds hold those of children. On a virtual machine filling
memory may cost many times as much in one run as in the next: give it several tries.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.time_to_answer import HERE, hardware

KINDS = ("csv", "parquet", "hdf5", "gzip.hdf5", "successors.hdf5")
WHO = ("bare", "by hand", "ropeval")
INSIDE, MAKE = "--inside", "--make"
OBSERVATIONS, ACTIONS, LENGTH = 11, 3, 1_000
STATES = [f"observations_{i}" for i in range(OBSERVATIONS)]
MOVES = [f"actions_{i}" for i in range(ACTIONS)]
FLAGS = ["terminations", "truncations"]


def make_files(folder: Path, rows: int, kinds: list[str]) -> None:
    import h5py
    import numpy as np
    import polars

    rng = np.random.default_rng(0)
    states, moves = (rng.standard_normal((rows, width), np.float32) for width in (OBSERVATIONS, ACTIONS))
    ends = (np.arange(1, rows + 1) % LENGTH == 0) | (np.arange(1, rows + 1) == rows)
    flags = {"terminations": ends & (np.arange(rows) // LENGTH % 2 == 0)}
    flags["truncations"] = ends & ~flags["terminations"]
    rewards = rng.standard_normal(rows, np.float32)
    for kind in (kind for kind in kinds if kind.endswith("hdf5")):
        with h5py.File(folder / f"log.{kind}", "w") as file:
            columns = {"observations": states, "actions": moves, "rewards": rewards, **flags}
            if kind.startswith("successors"):
                columns["next_observations"] = np.roll(states, -1, axis=0)
            for name, values in columns.items():
                file.create_dataset(name, data=values, compression="gzip" if kind.startswith("gzip") else None)
    numbers = dict(zip([*STATES, *MOVES], [*states.T, *moves.T], strict=True))
    frame = polars.DataFrame({**numbers, "rewards": rewards, **flags})
    if "parquet" in kinds:
        frame.write_parquet(folder / "log.parquet")
    if "csv" in kinds:
        frame.write_csv(folder / "log.csv")


# --- in a process of its own ----------------------------------------------------------------------------------


def read_bare(path: Path) -> Any:
    """What anybody would write who wants the columns as arrays."""
    if path.suffix == ".hdf5":
        import h5py

        with h5py.File(path) as file:
            wanted = ("observations", "actions", "rewards", *FLAGS, "next_observations")
            return {name: file[name][:] for name in wanted if name in file}
    import polars

    names = [*STATES, *MOVES, "rewards", *FLAGS]
    frame = (polars.read_csv if path.suffix == ".csv" else polars.read_parquet)(path, columns=names)
    states, moves = frame.select(STATES).to_numpy(), frame.select(MOVES).to_numpy()
    return states, moves, *(frame[name].to_numpy() for name in ("rewards", *FLAGS))


def read_by_hand(path: Path) -> Any:
    import numpy as np

    columns = read_bare(path)
    states, moves, rewards, terminations, truncations, *given = (
        columns.values() if isinstance(columns, dict) else columns
    )
    if not all(np.isfinite(values).all() for values in (states, moves, rewards, *given)):
        raise ValueError("not finite")
    if given:
        return columns
    followed = ~truncations
    followed[-1] = terminations[-1]
    after = np.where(terminations, np.arange(len(rewards)), np.arange(1, len(rewards) + 1))[followed]
    return (*(values[followed] for values in (states, moves, rewards, terminations)), states[after])


def read_ours(path: Path) -> Any:
    from ropeval.data import load_dataset

    return load_dataset(path)


def inside(who: str, path: Path) -> None:
    import h5py  # noqa: F401  imports are not what is measured
    import polars  # noqa: F401

    import ropeval.data.formats  # noqa: F401

    began, before = time.perf_counter(), cpu_seconds()
    held = {"bare": read_bare, "by hand": read_by_hand, "ropeval": read_ours}[who](path)
    wall, cpu = time.perf_counter() - began, cpu_seconds() - before
    peak = max(resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    del held
    print(json.dumps({"seconds": wall, "cpu_seconds": cpu, "peak_gb": peak * 1024 / 1e9}))


def cpu_seconds() -> float:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# --- outside --------------------------------------------------------------------------------------------------


def best(path: Path, times: int) -> dict[str, dict[str, float]]:
    """Of every reader, the least of each number."""
    found: dict[str, list[dict[str, float]]] = {who: [] for who in WHO}
    for _ in range(times):
        for who, tries in found.items():
            command = [sys.executable, "-m", "benchmarks.reading", INSIDE, who, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, cwd=HERE.parent)
            tries.append(json.loads(done.stdout))
    return {who: {name: round(min(one[name] for one in tries), 3) for name in tries[0]} for who, tries in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, default=2.0, help="of rows")
    parser.add_argument("--times", type=int, default=3, help="each reading; the best is kept")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--save", type=Path, default=HERE / "results" / "reading.json")
    chosen = parser.parse_args()
    rows = round(chosen.millions * 1e6)
    known = json.loads(chosen.save.read_text())["rows"] if chosen.save.exists() else []
    by_case = {(row["rows"], row["file"]): row for row in known}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as place:
        make = [sys.executable, "-m", "benchmarks.reading", MAKE, place, str(rows), *chosen.kinds]
        subprocess.run(make, check=True, cwd=HERE.parent)  # or else its memory would count as that of its children
        for kind in chosen.kinds:
            path = Path(place) / f"log.{kind}"
            found = best(path, chosen.times)
            ours = found["ropeval"]
            row = {"rows": rows, "file": kind, "mb": path.stat().st_size // 10**6, **found}
            for who in ("bare", "by hand"):
                row[f"ratio to {who}"] = {name: round(ours[name] / found[who][name], 2) for name in ours}
            by_case[rows, kind] = {**row, "load_average": os.getloadavg()[0], "about": hardware()}
            print(json.dumps(row), flush=True)
    chosen.save.write_text(json.dumps({"rows": [by_case[case] for case in sorted(by_case)]}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == [MAKE]:
        make_files(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        main()
