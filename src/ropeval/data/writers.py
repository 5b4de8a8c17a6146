"""Writing logs for others: npz, Parquet, Minari. (ropeval's own form is in `columns.py`.)"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.data.columns import ColumnsWriter
from ropeval.data.dataset import STEPS, Dataset
from ropeval.data.readers.minari import LOG_PROBS
from ropeval.errors import UserError
from ropeval.files import scratch_folder, unwritable, write_atomically, write_parquet

Progress = Callable[[int], None]  # steps written so far
FORMATS = ("columns", "npz", "parquet", "minari")


def format_for(target: Path) -> str:
    """By the ending: `.npz`, `.parquet`; a name without an ending is a folder of columns."""
    if target.suffix in (".npz", ".parquet"):
        return target.suffix[1:]
    if target.suffix in (".csv", ".hdf5", ".h5"):
        raise UserError(f"{target}: ropeval does not write {target.suffix}; choose from: {', '.join(FORMATS)}")
    return "columns"


def write_log(parts: Iterable[Dataset], target: Path, kind: str, progress: Progress | None = None) -> None:
    """Write a log, given in parts of whole episodes, in one of `FORMATS`; whole or not at all."""
    if kind == "columns":
        done = 0
        with ColumnsWriter(target) as writer:
            for part in parts:
                writer.append(part)
                done += len(part)
                if progress:
                    progress(done)
        return
    dataset = Dataset.concatenate(list(parts), name=str(target))
    if kind == "npz":
        write_atomically(target, lambda path: _write_npz(dataset, path))
    elif kind == "parquet":
        write_parquet(target, _as_frame(dataset))
    elif kind == "minari":
        write_minari(dataset, target, progress)
    else:
        raise UserError(f"unknown format {kind!r}; choose from: {', '.join(FORMATS)}")


def plain_columns(dataset: Dataset) -> dict[str, AnyArray]:
    """The columns under Minari's names, from which the same log can be built again."""
    lengths = np.diff(dataset.starts)
    columns: dict[str, AnyArray] = {
        **{name: getattr(dataset, name) for name in STEPS},
        "episode_ids": np.repeat(np.arange(len(lengths)), lengths),
    }
    if dataset.log_probs is not None:
        columns["log_probs"] = dataset.log_probs
    if dataset.num_actions is not None:
        columns["num_actions"] = np.array(dataset.num_actions)
    return columns


def _write_npz(dataset: Dataset, path: Path) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **plain_columns(dataset))  # type: ignore[arg-type]


def _as_frame(dataset: Dataset) -> Any:
    import polars

    table: dict[str, AnyArray] = {}
    for name, values in plain_columns(dataset).items():
        if values.ndim == 2:
            table |= {f"{name}_{i}": values[:, i] for i in range(values.shape[1])}
        else:
            table[name] = values if values.ndim else np.full(len(dataset), int(values), np.int32)
    return polars.DataFrame(table)


def write_minari(dataset: Dataset, target: Path, progress: Progress | None = None) -> None:
    """A Minari dataset as a folder, which `minari.MinariDataset(FOLDER)` opens."""
    try:
        import gymnasium
        import minari
        from minari.data_collector import EpisodeBuffer
    except ImportError as error:
        raise UserError("writing Minari datasets needs the package minari: pip install 'ropeval[minari]'") from error
    _check_chained(dataset)
    if target.exists():
        raise UserError(f"{target}: exists already; choose another name")
    space = _action_space(dataset, gymnasium)
    size = dataset.observations.shape[1]
    box = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def episodes() -> list[Any]:
        found = []
        for number, (start, stop) in enumerate(zip(dataset.starts[:-1], dataset.starts[1:], strict=True)):
            if start == stop:
                continue
            rows = slice(start, stop)
            states = np.concatenate([dataset.observations[rows], dataset.next_observations[stop - 1 : stop]])
            terminations, truncations = dataset.terminations[rows], dataset.truncations[rows].copy()
            truncations[-1] |= not terminations[-1]  # Minari wants every episode ended
            found.append(
                EpisodeBuffer(
                    id=number, observations=states, actions=np.asarray(dataset.actions[rows]),
                    rewards=np.asarray(dataset.rewards[rows], np.float64), terminations=np.asarray(terminations),
                    truncations=truncations, infos=_infos(dataset, rows),
                )
            )  # fmt: skip
            if progress:
                progress(int(stop))
        return found

    name = f"ropeval/{_id_of(target)}-v0"
    try:
        scratch = str(scratch_folder(target).resolve())
    except OSError as error:
        raise unwritable(target, error) from error
    before = os.environ.get("MINARI_DATASETS_PATH")
    try:
        os.environ["MINARI_DATASETS_PATH"] = scratch  # Minari writes into its cache only: give it one of our own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about authors and code links that a log does not have
            minari.create_dataset_from_buffers(
                dataset_id=name, buffer=episodes(), observation_space=box, action_space=space,
                description=f"written by ropeval from {dataset.name}",
            )  # fmt: skip
        (Path(scratch) / name).rename(target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        if before is None:
            os.environ.pop("MINARI_DATASETS_PATH", None)
        else:
            os.environ["MINARI_DATASETS_PATH"] = before
        shutil.rmtree(scratch, ignore_errors=True)


def _infos(dataset: Dataset, rows: slice) -> dict[str, Singles] | None:
    """Minari has no place of its own for log-probabilities, but keeps T+1 infos: one at the reset, one per step."""
    if dataset.log_probs is None:
        return None
    return {LOG_PROBS: np.concatenate([np.zeros(1, np.float32), dataset.log_probs[rows]])}


def _id_of(target: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in target.name) or "log"


def _action_space(dataset: Dataset, gymnasium: Any) -> Any:
    if dataset.num_actions is not None:
        return gymnasium.spaces.Discrete(dataset.num_actions)
    low, high = dataset.space.low, dataset.space.high
    return gymnasium.spaces.Box(low, high, dtype=np.float32)


def _check_chained(dataset: Dataset) -> None:
    """Minari keeps T+1 observations per episode, so every next observation must be the next row's."""
    rows = np.setdiff1d(np.arange(len(dataset)), dataset.last_rows)
    bad = rows[(dataset.next_observations[rows] != dataset.observations[rows + 1]).any(axis=1)]
    if len(bad):
        raise UserError(
            f"{dataset.name}: the next observation of row {bad[0]} is not the observation of row {bad[0] + 1}, so "
            "Minari's form (T+1 observations in a row) cannot hold this log; write it as npz or parquet"
        )
