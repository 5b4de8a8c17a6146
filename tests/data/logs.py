"""A small log, and writers of it in every format, for the tests of the readers. Spoiled on request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars

Columns = dict[str, Any]
LENGTHS = (4, 3, 5)


def make_columns(discrete: bool = False) -> Columns:
    """Three episodes that chain: the first terminates, the others are cut off. With ids and the time inside."""
    rng = np.random.default_rng(0)
    states = [rng.standard_normal((length + 1, 3)).astype(np.float32) for length in LENGTHS]
    steps = sum(LENGTHS)
    last = np.zeros(steps, bool)
    last[np.cumsum(LENGTHS) - 1] = True
    first = np.arange(steps) < LENGTHS[0]
    return {
        "observations": np.concatenate([s[:-1] for s in states]),
        "actions": rng.integers(0, 3, steps) if discrete else rng.uniform(-1, 1, (steps, 2)).astype(np.float32),
        "rewards": rng.standard_normal(steps).astype(np.float32),
        "terminations": last & first,
        "truncations": last & ~first,
        "next_observations": np.concatenate([s[1:] for s in states]),
        "episode_ids": np.repeat([0, 1, 2], LENGTHS),
        "time": np.concatenate([np.arange(n) for n in LENGTHS]),
    }


def slices() -> list[slice]:
    ends = np.cumsum(LENGTHS)
    return [slice(end - length, end) for end, length in zip(ends, LENGTHS, strict=True)]


def write_npz(folder: Path, columns: Columns) -> Path:
    path = folder / "log.npz"
    np.savez(path, **{k: v for k, v in columns.items() if k != "time"})
    return path


def write_d4rl(folder: Path, columns: Columns) -> Path:
    names = {"terminations": "terminals", "truncations": "timeouts"}
    path = folder / "log.hdf5"
    with h5py.File(path, "w") as file:
        for key, value in columns.items():
            if key not in ("episode_ids", "time"):
                file[names.get(key, key)] = value
        file["infos/qpos"] = np.zeros((12, 2))
        file["metadata/algorithm"] = "made up"
    return path


def write_minari(folder: Path, columns: Columns) -> Path:
    """As Minari lays it out; that Minari's own files are read is another test."""
    data = folder / "log-v0" / "data"
    data.mkdir(parents=True, exist_ok=True)
    discrete = columns["actions"].ndim == 1
    box = {"type": "Box", "dtype": "float32", "shape": [3], "low": [-9.0] * 3, "high": [9.0] * 3}
    space = {"type": "Discrete", "n": 3, "start": 0} if discrete else {**box, "shape": [2]}
    about = {"total_episodes": 3, "observation_space": json.dumps(box), "action_space": json.dumps(space)}
    (data / "metadata.json").write_text(json.dumps(about | columns.get("metadata", {})))
    with h5py.File(data / "main_data.hdf5", "w") as file:
        for number, rows in enumerate(slices()):
            group = file.create_group(f"episode_{number}")
            states = np.concatenate([columns["observations"][rows], columns["next_observations"][rows][-1:]])
            group["observations"] = states
            for key in ("actions", "rewards", "terminations", "truncations"):
                group[key] = columns[key][rows]
    return folder / "log-v0"


def write_d3rlpy(folder: Path, columns: Columns) -> Path:
    path = folder / "buffer.h5"
    with h5py.File(path, "w") as file:
        file["columns"] = ["observations", "actions", "rewards", "terminated"]
        file["num_episodes"] = len(LENGTHS)
        file["version"] = "2.1"
        for number, rows in enumerate(slices()):
            for key in ("observations", "actions", "rewards"):
                file[f"{key}_{number}"] = columns[key][rows]
            file[f"terminated_{number}"] = columns["terminations"][rows].any()
    return path


def frame(columns: Columns) -> polars.DataFrame:
    table: dict[str, Any] = {}
    for key, value in columns.items():
        if isinstance(value, np.ndarray) and value.ndim == 2:
            table |= {f"{key}_{i}": value[:, i] for i in range(value.shape[1])}
        else:
            table[key] = value
    return polars.DataFrame(table)


def write_parquet(folder: Path, columns: Columns) -> Path:
    frame(columns).write_parquet(folder / "log.parquet")
    return folder / "log.parquet"


def write_csv(folder: Path, columns: Columns) -> Path:
    frame(columns).write_csv(folder / "log.csv")
    return folder / "log.csv"


def write_json(folder: Path, columns: Columns) -> Path:
    """Vectors as lists, which CSV cannot hold."""
    table = {key: value.tolist() for key, value in columns.items()}
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    path = folder / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


WRITERS: dict[str, Callable[[Path, Columns], Path]] = {
    "npz": write_npz,
    "d4rl": write_d4rl,
    "minari": write_minari,
    "d3rlpy": write_d3rlpy,
    "parquet": write_parquet,
    "csv": write_csv,
    "json": write_json,
}
