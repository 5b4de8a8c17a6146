"""Reading a file in a process of its own, where libraries in C and Rust decode it.

libhdf5 and polars are robust, not proof: rare damage makes them abort or go round in circles, and then no `except`
helps. So a file of theirs is read in a child that may die of it, with limits on time and memory. The child leaves the
log as a folder of columns, which is mapped here. What the child has to say does not matter: where it finds something
wrong, the file is read here, and errors are said as always.
"""

import ctypes
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ropeval.data.column_names import Mapped
from ropeval.data.columns import ColumnsWriter, open_columns
from ropeval.data.dataset import Dataset
from ropeval.errors import UserError
from ropeval.files import BOMB_RATIO, locked, scratch_place

SECONDS, BYTES_PER_SECOND = 6, 50_000_000  # of processor time: other work on the machine does not count
PATIENCE = 60  # seconds on the clock, for each of those
MEMORY = 5 << 29  # address space, which libraries reserve more of than they use
TIMES_THE_FILE = 8  # and this much more, for files that are large
UNPACKED = 3 << 28  # bytes of the log itself: whoever reads it holds it twice for a moment, in parts and joined
TOO_LARGE, WRONG = 3, 4  # the child's exit codes
SCRATCH, LOCK = "ropeval-", ".lock"  # in the names of a folder for the log, and of its lock
PR_SET_PDEATHSIG = 1  # of Linux


def read_apart(path: Path, mapped: Mapped) -> Dataset | None:
    """The log, mapped from a scratch file that no name leads to, or where it lies as it is, from its own; None where
    something is wrong with it, but reading it here is safe. A file that its own library does not survive is refused."""
    with _scratch() as folder:
        before = path.stat()
        if _read_in_child(path, mapped, folder) == WRONG:
            return None
        log = replace(open_columns(folder, source=path), name=str(path))
        after = path.stat()
        if path.is_file() and (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size):
            raise UserError(f"{path}: it was changed while it was read; wait until it is written")
        return log


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for the log; "" where there is no room for one, and the file is decoded once more here."""
    place = Path(scratch_place() or tempfile.gettempdir())
    with ExitStack() as held:
        yield _make_scratch(place, held) if place.is_dir() else ""


def _make_scratch(place: Path, held: ExitStack) -> str:
    """Its lock is there before it, and ends with this process: one that can be had belongs to a killed one's folder."""
    for lock in place.glob(f"{SCRATCH}*{LOCK}"):
        with suppress(OSError, UserError), locked(lock) as left:  # it may be another user's
            if left:
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    made = place / f"{SCRATCH}{secrets.token_hex(8)}"
    try:
        held.enter_context(locked(made.with_suffix(LOCK)))
        made.mkdir(0o700)
    except (OSError, UserError):
        return ""
    held.callback(shutil.rmtree, made, ignore_errors=True)
    return str(made / "log")


def _read_in_child(path: Path, mapped: Mapped, scratch: str) -> int:
    size = sum(p.stat().st_size for p in (path.rglob("*") if path.is_dir() else [path]) if p.is_file())
    seconds = SECONDS + size // BYTES_PER_SECOND
    unpacked = UNPACKED + BOMB_RATIO * size
    limits = [str(seconds), str(MEMORY + TIMES_THE_FILE * size), str(unpacked)]
    given = [str(os.getpid()), str(path), json.dumps(dict(mapped)), scratch]
    command = [sys.executable, "-P", "-m", "ropeval.data.guarded_read", *given, *limits]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE * seconds, check=False)
    except subprocess.TimeoutExpired:
        code = -signal.SIGXCPU
    except OSError as error:
        raise UserError(f"{path}: no process could be started to read it in ({error.strerror or error})") from error
    else:
        code = done.returncode
    if code == -signal.SIGXCPU:
        raise UserError(f"{path}: reading it took more than {seconds} s without an end; the file is damaged")
    if code == TOO_LARGE:
        raise UserError(
            f"{path}: its {size / 1e6:.3g} MB would become a log of more than {unpacked / 1e9:.1f} GB; damaged or "
            "hostile? If it is sound, write it again without compression"
        )
    if code < 0:
        name = signal.Signals(-code).name
        raise UserError(f"{path}: the library that reads such files died of it ({name}); the file is damaged")
    return WRONG if code else 0


def _child(parent: str, path: str, mapped: str, scratch: str, seconds: str, memory: str, unpacked: str) -> None:
    with suppress(OSError, AttributeError):  # nobody waits for the child of a process that was killed
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit(WRONG)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    except (ImportError, ValueError, OSError):  # not on every system; the clock still runs
        pass
    try:
        with suppress(Unwritten):
            _write(path, mapped, unpacked, scratch)
            return
        for _ in _parts(path, mapped, unpacked):  # nor may the rest of it kill anyone
            pass
        sys.exit(WRONG)
    except (UserError, MemoryError) as error:  # the parent finds the same and says it, but without this limit of memory
        sys.exit(TOO_LARGE if _out_of_memory(error) else WRONG)


class Unwritten(Exception):
    """There is no room for the scratch file."""


def _write(path: str, mapped: str, unpacked: str, scratch: str) -> None:
    if not scratch:
        raise Unwritten
    with ColumnsWriter(scratch, durable=False, source=path) as writer, ThreadPoolExecutor(1) as beside:
        begun: Future[None] | None = None
        for part in _parts(path, mapped, unpacked):  # while one is written, the next is read
            _written(begun)
            begun = beside.submit(writer.append, part)
        _written(begun)


def _written(begun: "Future[None] | None") -> None:
    try:
        if begun is not None:
            begun.result()
    except UserError as error:
        raise Unwritten from error


def _parts(path: str, mapped: str, unpacked: str) -> Iterator[Dataset]:
    from ropeval.data.formats import recognise

    left = int(unpacked)
    for part in recognise(path).parts_here(json.loads(mapped)):
        left -= part.nbytes
        if left < 0:
            sys.exit(TOO_LARGE)
        yield part


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether that is behind it, whoever said what about it on the way."""
    while error is not None:
        if isinstance(error, MemoryError) or "memory allocation failed" in str(error):
            return True
        error = error.__cause__
    return False


if __name__ == "__main__":
    _child(*sys.argv[1:])
