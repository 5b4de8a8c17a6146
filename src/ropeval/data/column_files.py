"""Where the rows of a column are kept while a folder of columns is written: in a file that grows, or where they lie."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

OFFSET = "offset"  # in the index of a folder that is gone with the process: where a column lies in its source


class GrowingFile:
    """An `.npy` file whose number of rows is known at the end only; NumPy leaves room for it in the header."""

    def __init__(self, path: Path, like: NDArray[Any]):
        self.path, self.dtype, self._row, self._rows = path, like.dtype, like.shape[1:], 0
        self._file = path.open("wb")
        self.last: Any = None  # row written
        self._header()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._rows, *self._row)

    @property
    def declared(self) -> dict[str, Any]:
        return {"shape": self.shape, "dtype": str(self.dtype)}

    def append(self, values: NDArray[Any]) -> None:
        if len(values):
            block = np.ascontiguousarray(values, self.dtype)
            self._file.write(block.reshape(-1).view(np.uint8).data)  # `tofile` would not notice that the disk is full
            self._rows, self.last = self._rows + len(values), values[-1]

    def close(self, durable: bool) -> None:
        self._file.seek(0)
        self._header()
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())
        self._file.close()

    def _header(self) -> None:
        description = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(self._file, description)


class Lying:
    """A column that lies in the source in one piece, so far."""

    last: Any = None  # row; nobody asks: only the starts of episodes are counted on, and those are never there

    def __init__(self, like: NDArray[Any], offset: int):
        self.blocks: list[NDArray[Any]] = []
        self._like, self._offset = like, offset

    @property
    def _rows(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def end(self) -> int:
        """Where the next row must lie."""
        return self._offset + sum(block.nbytes for block in self.blocks)

    @property
    def declared(self) -> dict[str, Any]:
        return {"shape": (self._rows, *self._like.shape[1:]), "dtype": str(self._like.dtype), OFFSET: self._offset}

    def append(self, values: NDArray[Any]) -> None:
        self.blocks.append(values)

    def close(self, durable: bool) -> None:
        pass
