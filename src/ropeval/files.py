"""Reading and writing files safely: nothing is unpickled, nothing is left half-written."""

import contextlib
import glob
import io
import json
import mmap
import os
import shutil
import struct
import tempfile
import time
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import FULL, UserError, first_line
from ropeval.words import read_text

# What NumPy and zipfile raise on a file that is cut short, damaged, or something else altogether.
UNREADABLE = (
    OSError, ValueError, TypeError, EOFError, KeyError, AttributeError, SyntaxError, NotImplementedError, RuntimeError,
    MemoryError, OverflowError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error,
)  # fmt: skip


# So much from so little is no honest compression: a file that claims it is refused before it is unpacked.
BOMB_BYTES, BOMB_RATIO = 1 << 29, 100
HALF, REPLACED = "half-", "replaced"  # in the names of what is being written, and of what stood in its place


def read_npz(path: Path, names: tuple[str, ...] | None = None, what: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` (only `names`, if given). Never unpickles anything."""
    with _reading_npz(path, what):
        _refuse_bomb(path, names, what)
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise UserError(f"{what}{path}: this is a single array, not an .npz archive of named arrays")
        with loaded as file:
            arrays = {name: file[name] for name in file.files if names is None or name in names}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # a member that is no array comes as its bytes
            raise UserError(f"{what}{path}: {name} is no array; damaged, or not written by NumPy?")
    return arrays


def npz_names(path: Path, what: str = "") -> list[str]:
    """The names of the members of an `.npz`, of which an array's ends in `.npy`, without reading them."""
    with _reading_npz(path, what), zipfile.ZipFile(path) as file:
        return file.namelist()


@contextlib.contextmanager
def _reading_npz(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except UNREADABLE as error:
        raise UserError(f"{what}{path}: cannot be read as .npz, damaged or cut short? ({first_line(error)})") from error


def _refuse_bomb(path: Path, names: tuple[str, ...] | None, what: str) -> None:
    """What would be unpacked is held against the file itself: what the archive says it stores may be a lie."""
    if not zipfile.is_zipfile(path):
        return  # NumPy has its own words for that
    with zipfile.ZipFile(path) as file:
        wanted = [i for i in file.infolist() if names is None or i.filename.removesuffix(".npy") in names]
    claimed, stored = sum(member.file_size for member in wanted), path.stat().st_size
    if claimed > BOMB_BYTES and claimed > BOMB_RATIO * stored:
        raise UserError(
            f"{what}{path}: it would unpack {stored / 1e6:.1f} MB to {claimed / 1e9:.1f} GB; damaged or "
            "hostile? If it is sound, save it without compression"
        )


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
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
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_parquet(path: Path, frame: Any, **how: Any) -> None:
    """A frame of polars, whole or not at all. Python writes the bytes: of a full disk polars says that the file is
    damaged, and a path it may take for a pattern."""

    def write(temporary: Path) -> None:
        packed = io.BytesIO()
        frame.write_parquet(packed, **how)
        temporary.write_bytes(packed.getbuffer())

    write_atomically(path, write)


def remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Temporary files of `write_atomically` that a process left behind when it was killed."""
    for name in names:
        for temporary in folder.glob(f".{name}.{'?' * 8}{Path(name).suffix}"):
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def scratch_folder(target: Path) -> Path:
    """A new folder beside `target`: what is written into it is renamed in the end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.{HALF}", dir=target.parent))


def put_folder(made: Path, target: Path) -> None:
    """Rename a folder to its place, where another may stand: at every moment one of the two can be found."""
    if not target.exists():
        made.rename(target)
        return
    aside = scratch_folder(target)  # a folder cannot be renamed onto another that holds something
    target.rename(aside / REPLACED)
    made.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def remove_scratch(target: Path) -> None:
    """What is left of those who were killed while they wrote `target`. What they had put aside for it comes back."""
    for scratch in target.parent.glob(f".{glob.escape(target.name)}.{HALF}{'?' * 8}"):
        if (scratch / REPLACED).exists() and not target.exists():
            (scratch / REPLACED).rename(target)
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def sole_writer(target: Path, patience: float = 0.0) -> Iterator[None]:
    """A file or folder is this process's to write, and what a killed one left beside it goes; refuses if another is
    still at it after so many seconds."""
    until = time.monotonic() + patience
    while True:
        with locked(target.parent / f".{target.name}.lock") as alone:
            if alone:
                remove_leftovers(target.parent, [glob.escape(target.name)])
                remove_scratch(target)
                yield
                return
        if time.monotonic() > until:
            raise UserError(f"{target}: another process is writing it; wait for it, or choose another name")
        time.sleep(0.05)


def write_alone(path: Path, text: str) -> None:
    """As `write_text`, where nobody guards the folder: one writer at a time, and what a killed one left goes."""
    with sole_writer(path, patience=30.0):
        write_text(path, text)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether the lock is ours for the length of the block; False: another process of this machine has it.

    It ends with the process that holds it, however that ends, so a file that is still there is no obstacle.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _lock_file(path)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)  # while it is held: whoever opened it meanwhile looks again


def _lock_file(path: Path) -> IO[str] | None:
    """The open file, locked; None if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return path.open("a")
    while True:
        file = path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last holder removed it before we came: this one locks nothing


def unwritable(path: Path, error: OSError) -> UserError:
    if error.errno in FULL:
        return UserError(f"{path}: cannot be written, the disk is full; free some space or choose another --out")
    return UserError(f"{path}: cannot be written ({error.strerror or error}); choose another --out")


def scratch_place() -> str | None:
    """For large files that are gone with the process; None: the system's own."""
    return os.environ.get("TMPDIR") or ("/var/tmp" if Path("/var/tmp").is_dir() else None)  # /tmp may be memory


def release(array: NDArray[Any]) -> None:
    """Give back the pages of a memory-mapped array that were read; they come again when they are asked for.

    Otherwise everything that was ever looked at would count as this process's memory.
    """
    mapped: Any = getattr(mapping_of(array), "base", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def mapping_of(array: Any) -> "np.memmap[Any, Any] | None":
    """The memory map that an array is a view of, however many views were taken on the way."""
    base = getattr(array, "base", None)
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array if isinstance(array, np.memmap) and isinstance(base, mmap.mmap) else None


def load_json(path: Path, what: str = "JSON", advice: str = "") -> Any:
    """Whatever a JSON file holds, or one line about it: nested without end, numbers of thousands of digits."""
    try:
        return json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as {what} ({error}){advice}") from error


def read_json(path: Path) -> dict[str, Any]:
    content = load_json(path, "JSON, damaged or cut short?")
    if not isinstance(content, dict):
        raise UserError(f"{path}: holds {type(content).__name__}, expected a JSON object")
    return content
