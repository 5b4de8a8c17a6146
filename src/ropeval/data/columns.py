"""The working form of a log: a folder with one flat `.npy` per column, memory-mapped when it is read.

FOLDER/columns.json        format, version, shape and type of every column, number of discrete actions, notices of
                           the conversion, names of observations and actions, and free `metadata`
FOLDER/observations.npy …  one file per field of `Dataset`, rows in order, episodes in order

Nothing is copied on opening, so a log may be larger than memory, and a million steps open in a blink. A folder is
written beside its place and renamed, so it is there whole or not at all.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.blocks import blocks, in_order
from ropeval.data.column_files import OFFSET, GrowingFile, Lying
from ropeval.data.dataset import Dataset, check_same_task, merge_notices
from ropeval.data.mapping import place_of
from ropeval.data.probabilities import check_log_probs
from ropeval.errors import UserError, first_line
from ropeval.files import UNREADABLE, put_folder, release, scratch_folder, unwritable

FORMAT, VERSION = "ropeval-columns", 1
INDEX = "columns.json"
MAX_INDEX = 1 << 24  # bytes; no honest index comes near
DTYPES: dict[str, tuple[str, ...]] = {  # every column, and what it may hold
    "observations": ("float32",),
    "actions": ("float32", "int32"),  # the latter where actions are discrete
    "rewards": ("float32",),
    "terminations": ("bool",),
    "truncations": ("bool",),
    "next_observations": ("float32",),
    "initial_observations": ("float32",),
    "starts": ("int64",),
    "log_probs": ("float32",),  # only where they are known
}


def is_columns(folder: Path) -> bool:
    return (folder / INDEX).is_file()


# --- writing --------------------------------------------------------------------------------------------------


def write_columns(
    folder: str | Path, log: Dataset | Mapping[str, NDArray[Any]], metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a log (or columns under Minari's names, which are checked first) as a folder, whole or not at all."""
    dataset = log if isinstance(log, Dataset) else Dataset.from_columns(dict(log), name=str(folder))
    with ColumnsWriter(folder, metadata) as writer:
        writer.append(dataset)


class ColumnsWriter:
    """Writes a log part by part, each a `Dataset` of whole episodes, so that never more than a part is held.

    Use it in a `with` block: at its end the folder is put into place, and after an error nothing is left behind.
    A folder that holds an earlier log in this form is replaced; any other that holds something is refused.
    `durable`: it would survive a power cut. `source`: a file whose bytes need not be written once more: columns that
    lie in it as they are stay there, and `open_columns` must be told of it, too.
    """

    def __init__(
        self,
        folder: str | Path,
        metadata: Mapping[str, Any] | None = None,
        durable: bool = True,
        source: str | Path | None = None,
    ):
        self.folder, self._durable = Path(folder), durable
        self._source = None if source is None else os.path.abspath(source)
        self._metadata = dict(metadata or {})
        self._first: Dataset | None = None
        self._names: list[str] = []  # columns that every part has so far
        self._files: dict[str, GrowingFile | Lying] = {}
        self._notices: tuple[str, ...] = ()
        self._num_actions: int | None = None
        if self.folder.exists() and not (self.folder.is_dir() and (is_columns(self.folder) or _empty(self.folder))):
            raise UserError(f"{self.folder}: exists and is not a log in ropeval's own form; choose another name")
        with self._writing():
            self._temporary = scratch_folder(self.folder)

    def append(self, part: Dataset) -> None:
        """Add whole episodes."""
        if self._first is None:
            self._first = part
            self._names = [name for name in DTYPES if getattr(part, name) is not None]
        check_same_task(self._first, part)
        self._names = [name for name in self._names if getattr(part, name) is not None]
        for name in self._names:
            values = getattr(part, name)
            if name == "starts" and name in self._files:  # a part's offsets begin where the last one's ended
                values = values[1:] + self._files["starts"].last
            with self._writing():
                file = self._file(name, values)
                for rows in blocks(len(values)):
                    file.append(values[rows])
            release(values)
        if part.num_actions is not None:
            self._num_actions = max(part.num_actions, self._num_actions or 0)
        self._notices = merge_notices([*self._notices, *part.notices])

    def _file(self, name: str, values: NDArray[Any]) -> "GrowingFile | Lying":
        """Where a column goes on. One that lay in the source so far is written where these values do not."""
        file, place = self._files.get(name), place_of(values) if len(values) else None
        if file is None and place is not None and place.file == self._source:
            file = Lying(values, place.offset)
        elif file is None or (isinstance(file, Lying) and len(values) and place != (self._source, file.end)):
            lying, file = file, GrowingFile(self._temporary / f"{name}.npy", values)
            for block in lying.blocks if lying is not None else ():
                file.append(block)
                release(block)
        self._files[name] = file
        return file

    def __enter__(self) -> "ColumnsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _finish(self) -> None:
        if self._first is None:
            raise UserError(f"{self.folder}: no episodes to write")
        with self._writing():
            for name, file in self._files.items():
                file.close(self._durable)
                if name not in self._names and isinstance(file, GrowingFile):
                    file.path.unlink()
            about = {
                "format": FORMAT,
                "version": VERSION,
                "num_actions": self._num_actions,
                "names": {"observations": self._first.observation_names, "actions": self._first.action_names},
                "columns": {name: self._files[name].declared for name in self._names},
                "notices": list(self._notices),
                "metadata": self._metadata,
            }
            (self._temporary / INDEX).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            self._temporary.chmod(0o755)
            put_folder(self._temporary, self.folder)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self.folder, error) from error


def _empty(folder: Path) -> bool:
    return not any(folder.iterdir())


# --- reading --------------------------------------------------------------------------------------------------


def open_columns(folder: str | Path, *, source: Path | None = None) -> Dataset:
    """The log in a folder, memory-mapped: nothing is copied. Shapes and values are checked, the latter in blocks.
    `source`: the file that the folder was made of a moment ago, which may hold some of its columns. Whoever wrote them
    has checked the values."""
    folder = Path(folder)
    about = _read_index(folder)
    columns = {name: _map_column(folder, name, declared, source) for name, declared in about["columns"].items()}
    _check_shapes(folder, columns)
    for name in ("observations", "actions", "rewards", "next_observations", "initial_observations", "log_probs"):
        if name in columns and source is None:
            _check_finite(folder, name, columns[name])
    num_actions = about["num_actions"]
    _check_discrete(folder, columns["actions"], num_actions)
    if "log_probs" in columns:
        check_log_probs(columns["log_probs"], num_actions is not None, str(folder))
    made = Dataset(**columns, num_actions=num_actions, name=str(folder), notices=tuple(about["notices"]))  # type: ignore[arg-type]
    return made.named(*about["names"])


def read_metadata(folder: str | Path) -> dict[str, Any]:
    """What the writer of the folder had to say about it."""
    return dict(_read_index(Path(folder))["metadata"])


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    try:
        if path.stat().st_size > MAX_INDEX:
            raise ValueError("far too large")
        about = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise UserError(f"{path}: this is not the index of a log in ropeval's own form")
        if about["version"] != VERSION:
            raise UserError(
                f"{path}: written in version {about['version']} of the format, but this ropeval reads version "
                f"{VERSION}; update ropeval, or convert the log again from its source"
            )
        columns, num_actions, notices = about["columns"], about["num_actions"], about["notices"]
        fits = isinstance(columns, dict) and isinstance(notices, list) and isinstance(about["metadata"], dict)
        if not fits or not (num_actions is None or (isinstance(num_actions, int) and num_actions > 0)):
            raise ValueError("fields of the wrong type")
        about["notices"] = [str(notice) for notice in notices]
        names = about.get("names", {})  # younger than the format
        held = [names.get(of) for of in ("observations", "actions")]
        if not all(some is None or isinstance(some, list) for some in held):
            raise ValueError("names that are no lists")
        about["names"] = [some and [str(name) for name in some] for some in held]
    except UserError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise UserError(f"{path}: cannot be read, damaged? ({error}); convert the log again") from error
    wanted = [name for name in DTYPES if name != "log_probs"]
    missing = [name for name in wanted if name not in columns]
    extra = [name for name in columns if name not in DTYPES]
    if missing or extra:
        problem = f"misses {', '.join(missing)}" if missing else f"has the unknown column {extra[0]!r}"
        raise UserError(f"{path}: {problem}; convert the log again")
    return about


def _map_column(folder: Path, name: str, declared: Any, source: Path | None) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        if source is not None and OFFSET in declared:
            shape = tuple(declared["shape"])
            return np.memmap(str(source), declared["dtype"], "r", declared[OFFSET], shape)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.memmap):
            raise ValueError("not a single array")
        found = {"shape": list(array.shape), "dtype": str(array.dtype)}
    except UNREADABLE as error:
        raise UserError(
            f"{path}: cannot be read, damaged or cut short? ({first_line(error)}); convert the log again"
        ) from error
    if found != declared or found["dtype"] not in DTYPES[name]:
        raise UserError(f"{path}: holds {found}, but {INDEX} declares {declared}; convert the log again")
    return array


def _check_shapes(folder: Path, columns: dict[str, NDArray[Any]]) -> None:
    ranks = dict.fromkeys(columns, 1) | {name: 2 for name in columns if name.endswith("observations")}
    ranks["actions"] = 1 if columns["actions"].dtype.kind == "i" else 2
    steps, episodes, width = columns["rewards"].size, columns["starts"].size - 1, columns["observations"].shape[-1:]
    lengths = dict.fromkeys(columns, steps) | {"initial_observations": episodes, "starts": episodes + 1}
    fits = all(a.ndim == ranks[name] and len(a) == lengths[name] for name, a in columns.items()) and all(
        a.shape[1:] == width for name, a in columns.items() if name.endswith("observations")
    )
    if not fits:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in columns.items())
        raise UserError(f"{folder}: the columns do not fit together ({shapes}); convert the log again")
    if steps == 0:
        raise UserError(f"{folder}: the log is empty")
    starts = columns["starts"]
    if starts[0] != 0 or starts[-1] != steps or (np.diff(starts) < 0).any():
        raise UserError(f"{folder}: starts.npy does not lead from 0 to {steps} in ascending order; convert it again")


def _check_finite(folder: Path, name: str, array: NDArray[Any]) -> None:
    def odd_row(part: slice) -> int | None:
        block = array[part]
        with np.errstate(invalid="ignore"):
            sound = np.isfinite(block.min()) and np.isfinite(block.max())  # either is nan where a number is
        release(array)
        return None if sound else part.start + int(np.argwhere(~np.isfinite(block))[0][0])

    for row in in_order(odd_row, blocks(len(array))):
        if row is not None:
            raise UserError(f"{folder}: {name} is {array[row]} at row {row}; every value must be finite")


def _check_discrete(folder: Path, actions: NDArray[Any], num_actions: int | None) -> None:
    if (num_actions is None) != (actions.dtype.kind == "f"):
        raise UserError(f"{folder}: actions are {actions.dtype}, but num_actions is {num_actions}; convert it again")
    if num_actions is not None:
        low, high = int(actions.min()), int(actions.max())
        if low < 0 or high >= num_actions:
            raise UserError(
                f"{folder}: actions go from {low} to {high}, but num_actions is {num_actions}; convert the log again"
            )
