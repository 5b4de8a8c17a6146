"""Features that are made when they are asked for, so that a log may be larger than memory.

What is held in memory below `held_bytes` is, above it, `Gathered`. Mostly it is a `Pairs`: the logged columns stay
where they are (memory-mapped, in the working form of `columns.py`), the drawn actions go to a scratch file, and the
features of a mini-batch are put together from the rows that it takes. The same rows give the same bits either way.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.files import release, scratch_place

Floats = NDArray[np.float32]
HELD_ON_CPU = 2 << 30  # bytes of features that are held in memory rather than made when needed
HELD_ON_DEVICE = 0.4  # of an accelerator's memory
WINDOW = 1 << 28  # bytes of a mapped column that are looked at before its pages are given back
STAYS = 1 << 30  # bytes of one that stays where rows anywhere are asked for: they will be again, by every mini-batch


def held_bytes() -> int:
    """How many bytes of features may be held. It depends on the device only, so that a run can be repeated."""
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    return int(HELD_ON_DEVICE * stats["bytes_limit"]) if stats else HELD_ON_CPU


class Gathered(ABC):
    """Features [N, X] or [N, K, X] that come to memory row by row. Index it by rows."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: "slice | NDArray[np.integer]") -> Floats: ...

    def first_draw(self) -> "Gathered":
        """[N, 1, X]: with the first of the K actions only, where there are several."""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class Stored(Gathered):
    """Features in a file."""

    features: NDArray[np.float32]  # mapped

    @property
    def shape(self) -> tuple[int, ...]:
        return self.features.shape

    def __getitem__(self, rows: "slice | NDArray[np.integer]") -> Floats:
        return take(self.features, rows)

    def first_draw(self) -> "Stored":
        return Stored(self.features[:, :1])


@dataclass(frozen=True, eq=False)
class Pairs(Gathered):
    """Features of state-action pairs, made of states and actions."""

    observations: NDArray[np.float32]  # [N, S] raw
    actions: NDArray[Any]  # [N, A] or [N, K, A]; [N] or [N, K] where they are discrete
    mean: Floats  # [S] and
    std: Floats  # [S]: states are standardised
    width: int | None  # length of the one-hot code of discrete actions
    state_rows: NDArray[np.integer] | None = None  # [n] where the states stand, if not in all rows one by one,
    action_rows: NDArray[np.integer] | None = None  # [n] and the actions
    action_units: tuple[Floats, Floats] | None = None  # [A] offset and size of continuous actions; None: as they are

    @property
    def shape(self) -> tuple[int, ...]:
        code = self.actions.shape[-1] if self.width is None else self.width
        draws = self.actions.shape[1:-1] if self.width is None else self.actions.shape[1:]
        rows = len(self.observations if self.state_rows is None else self.state_rows)
        return (rows, *draws, self.observations.shape[1] + code)

    def raw(self, rows: "slice | NDArray[np.integer]") -> tuple[Floats, NDArray[Any]]:
        """Their states [n, S] and actions [n, A] or [n, K, A] (discrete: [n] or [n, K]), as they are."""
        states = take(self.observations, rows if self.state_rows is None else self.state_rows[rows])
        return states, take(self.actions, rows if self.action_rows is None else self.action_rows[rows])

    def __getitem__(self, rows: "slice | NDArray[np.integer]") -> Floats:
        states, actions = self.raw(rows)
        states = (states - self.mean) / self.std  # [n, S]
        encoded = self._scaled(actions) if self.width is None else np.eye(self.width, dtype=np.float32)[actions]
        size = states.shape[-1]
        features = np.empty((*encoded.shape[:-1], size + encoded.shape[-1]), np.float32)
        features[..., :size] = states if encoded.ndim == 2 else states[:, None, :]
        features[..., size:] = encoded
        return features

    def _scaled(self, actions: NDArray[Any]) -> Floats:
        actions = actions.astype(np.float32, copy=False)
        return actions if self.action_units is None else (actions - self.action_units[0]) / self.action_units[1]

    def first_draw(self) -> "Pairs":
        return replace(self, actions=self.actions[:, :1])


def take(column: NDArray[Any], rows: "slice | NDArray[np.integer]") -> NDArray[Any]:
    """`column[rows]`. Of a mapped column it is a copy; of a large one read in the order of the file, a window of it at
    a time."""
    if getattr(column, "_mmap", None) is None or (not isinstance(rows, slice) and column.nbytes <= STAYS):
        return column[rows]
    per_window = max(1, WINDOW // max(1, column.itemsize * int(np.prod(column.shape[1:]))))
    if isinstance(rows, slice):
        chosen = column[rows]  # not read yet
        result = np.empty(chosen.shape, column.dtype)
        for start in range(0, len(chosen), per_window):
            result[start : start + per_window] = chosen[start : start + per_window]
            release(column)
        return result
    order = np.argsort(rows)
    ordered = rows[order]
    result = np.empty((len(rows), *column.shape[1:]), column.dtype)
    edges = np.searchsorted(ordered, np.arange(0, len(column) + per_window, per_window))
    for first, last in pairwise(edges):
        if first < last:
            result[order[first:last]] = column[ordered[first:last]]
            release(column)
    return result


def spill(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Blocks [n, …] one after another as one mapped array [N, …], in a scratch file that no name leads to."""
    folder = scratch_place()
    rows = 0
    try:
        with tempfile.TemporaryFile(dir=folder) as file, ThreadPoolExecutor(1, "spill") as beside:
            written: Future[int] | None = None
            for block in blocks:
                if written is not None:
                    written.result()
                # While the next one is made. `tofile` would not notice that the disk is full.
                written = beside.submit(file.write, np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
                rows += len(block)
            if written is not None:
                written.result()
            file.flush()
            return np.memmap(file, block.dtype, mode="r", shape=(rows, *block.shape[1:]))
    except OSError as error:
        raise UserError(
            f"{folder or tempfile.gettempdir()}: no room for a scratch file ({error.strerror or error}); free some "
            "space, or set TMPDIR to a folder that has it"
        ) from error
