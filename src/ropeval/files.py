"""Reading and writing files safely: nothing is unpickled, nothing is left half-written."""

import contextlib
import errno
import mmap
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError

# What NumPy and zipfile raise on a file that is cut short, damaged, or something else altogether.
UNREADABLE = (
    OSError, ValueError, EOFError, KeyError, AttributeError, SyntaxError, NotImplementedError, RuntimeError,
    MemoryError, OverflowError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error,
)  # fmt: skip


def read_npz(path: Path, names: tuple[str, ...] | None = None, what: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` (only `names`, if given). Never unpickles anything."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise UserError(f"{what}{path}: this is a single array, not an .npz archive of named arrays")
            return {name: file[name] for name in file.files if names is None or name in names}
    except UserError:
        raise
    except UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{what}{path}: cannot be read as .npz, damaged or cut short? ({reason})") from error


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it: the file is there whole, or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise unwritable(path, error) from error
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: _write(temporary, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def unwritable(path: Path, error: OSError) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return UserError(f"{path}: cannot be written, the disk is full; free some space or choose another --out")
    return UserError(f"{path}: cannot be written ({error.strerror or error}); choose another --out")


def release(array: NDArray[Any]) -> None:
    """Give back the pages of a memory-mapped array that were read; they come again when they are asked for.

    Otherwise everything that was ever looked at would count as this process's memory.
    """
    mapped = getattr(array, "_mmap", None)
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
