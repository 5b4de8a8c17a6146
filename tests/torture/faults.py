"""Running the program in a process of its own that is killed, interrupted, or finds the disk full.

The processes are forked from one that has imported everything already: seconds each on a busy machine, otherwise.
"""

import errno
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "tests.torture.faults",
        "ropeval.cli.main",
        "ropeval.bench.run.local",
        "ropeval.report.run_page",
        "polars",
        "optax",
    ]
)
HANGS = 300.0  # seconds
READY = "ready\n"
HUNG = 999  # an exit code that there is not


class Fault(NamedTuple):
    """One of three: a signal after some seconds; a full disk at the n-th write; no file larger than so many bytes."""

    signal: int = 0
    seconds: float = 0.0
    write: int = 0
    largest: int = 0

    def __str__(self) -> str:
        if self.signal:
            return f"{signal.Signals(self.signal).name} after {self.seconds:.2f} s"
        return f"full at write {self.write}" if self.write else f"no file above {self.largest} bytes"


class Ended(NamedTuple):
    code: int  # negative: by that signal; HUNG: it had to be killed
    said: str
    writes: int  # how many there were


def draw_fault(rng: np.random.Generator, duration: float, writes: int) -> Fault:
    kind = rng.random()
    if kind < 0.75:
        return Fault(signal=int(rng.choice(SIGNALS)), seconds=float(rng.uniform(0, 1.05 * duration)))
    if kind < 0.9:
        return Fault(write=int(rng.integers(1, writes + 2)))
    return Fault(largest=int(np.exp(rng.uniform(0, 12))))


def run(words: list[str], folder: Path, fault: Fault | None = None) -> Ended:
    """`ropeval WORDS` in the folder."""
    heard, said = CONTEXT.Pipe(duplex=False)  # no file: that would meet the full disk, too
    process: ForkServerProcess = CONTEXT.Process(target=_child, args=(words, str(folder), fault, said))
    process.start()
    said.close()
    listener = Listener(heard.fileno())
    listener.began.wait(HANGS)
    if fault and fault.signal:
        process.join(fault.seconds)
        if process.is_alive():
            assert process.pid is not None
            os.kill(process.pid, fault.signal)
    process.join(HANGS)
    hung = process.is_alive()
    if hung:
        process.kill()
        process.join()
    writes = folder / "writes"
    counted = int(writes.read_text() or 0) if writes.exists() else 0
    return Ended(HUNG if hung else process.exitcode or 0, listener.all(), counted)


class Listener:
    """Collects what is said while it is said: a pipe that nobody reads would stop who speaks."""

    def __init__(self, place: int):
        self._pieces: list[bytes] = []
        self.began = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(os.dup(place),), daemon=True)
        self._thread.start()

    def _listen(self, place: int) -> None:
        with open(place, "rb", buffering=0) as file:
            while piece := file.read(1 << 16):
                self._pieces.append(piece)
                self.began.set()

    def all(self) -> str:
        self._thread.join(20.0)  # orphans may hold the other end for a moment
        return b"".join(self._pieces).decode(errors="replace").removeprefix(READY)


def _child(words: list[str], folder: str, fault: Fault | None, said: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until it is the program's turn
    os.chdir(folder)
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    said.close()
    sys.stdout, sys.stderr = (open(place, "w", closefd=False) for place in (1, 2))  # noqa: SIM115
    Path("tmp").mkdir(exist_ok=True)
    os.environ["TMPDIR"], tempfile.tempdir = str(Path("tmp").absolute()), None
    _count_writes(Path("writes").absolute(), fault.write if fault else 0)
    if fault and fault.largest:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.largest, resource.RLIM_INFINITY))
    from ropeval.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(1, READY.encode())  # what comes before is not the program's, and may not be interrupted
    try:
        main(words)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rest is not the program


def _count_writes(path: Path, full_at: int) -> None:
    """Making, flushing and placing a file are where a full disk is met; the n-th of them fails, and all after it."""
    count = 0
    record = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def guarded(deed: Any) -> Any:
        def done(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            os.pwrite(record, str(count).encode(), 0)
            if full_at and count >= full_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return deed(*arguments, **named)

        return done

    tempfile.mkstemp, tempfile.mkdtemp = guarded(tempfile.mkstemp), guarded(tempfile.mkdtemp)
    os.fsync, os.replace = guarded(os.fsync), guarded(os.replace)
    Path.replace, Path.rename = guarded(Path.replace), guarded(Path.rename)  # type: ignore[method-assign]


def wait_for_orphans(folder: Path, seconds: float = 20.0) -> list[str]:
    """Processes that still work in the folder: those of a killed parent leave by themselves, within a second or two."""
    deadline = time.monotonic() + seconds
    while True:
        left = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and os.readlink(entry / "cwd").startswith(str(folder)):
                    left.append((entry / "cmdline").read_text().replace("\0", " ")[:200])
            except OSError:
                continue
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)
