"""A guard around the reading of a file: nothing executed, imported or written, little memory, little time.

Python reports what it does to audit hooks (PEP 578), which cannot be taken off again; this one is silent outside the
guard. Memory is what the process held at its peak, as the operating system counts it; a limit of the address space
keeps a reader that goes far beyond from taking the machine with it.
"""

import codecs
import contextlib
import math
import resource
import signal
import sys
import threading
import unicodedata  # noqa: F401  (the compiler imports it at the first name beyond ASCII)
from collections.abc import Iterator

MAX_BYTES = 2 * 2**30
MAX_SECONDS = 10
ADDRESS_SPACE = 3 * MAX_BYTES
FORBIDDEN = (
    "exec", "import", "os.", "subprocess.", "pty.", "shutil.", "socket.", "ctypes.", "code.", "webbrowser.",
    "marshal.", "pickle.find_class", "urllib.", "ftplib.", "smtplib.", "http.", "sys.addaudithook", "sys.setprofile",
)  # fmt: skip
# `compile` alone runs nothing: NumPy parses an array's header as a literal. What is compiled would be seen at `exec`.
HARMLESS = (  # looking at a folder that was given as a policy; what Typer does to itself
    "os.listdir", "os.scandir", "os.putenv", "os.unsetenv",
)  # fmt: skip
_watching = threading.local()


for _name in ("ascii", "cp437", "latin_1", "raw_unicode_escape", "unicode_escape", "utf_8"):
    codecs.lookup(_name)  # Python imports its codecs when they are first used


class Broken(BaseException):
    """Not an Exception: code that catches everything must not catch this."""


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not getattr(_watching, "on", False):
        return
    mode = arguments[1] if event == "open" and len(arguments) > 1 else None
    writes = isinstance(mode, str) and set(mode) & set("wax+")
    if writes or (event.startswith(FORBIDDEN) and event not in HARMLESS):
        _watching.on = False
        _watching.seen = f"{event} {str(arguments)[:200]}"
        raise Broken(_watching.seen)


sys.addaudithook(_hook)


def _late(signum: int, frame: object) -> None:
    raise Broken(f"more than {MAX_SECONDS} s")


def _held() -> tuple[int, int, int]:
    """Address space, memory now and memory at its peak, in bytes."""
    with open("/proc/self/statm") as file:
        space, now = (int(word) * resource.getpagesize() for word in file.read().split()[:2])
    return space, now, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    space, now, peak = _held()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = space + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    before = signal.signal(signal.SIGPROF, _late)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    work = resource.getrlimit(resource.RLIMIT_CPU)
    # Ends C code that does not come back. The kernel holds it against a coarser count than it tells: 14.8 s were 12.
    most = math.ceil(2 * used + 2 * MAX_SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, work[1]))
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)  # of work: other processes on the machine do not count
    _watching.seen = None
    _watching.on = True
    try:
        yield
    finally:
        _watching.on = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        resource.setrlimit(resource.RLIMIT_CPU, work)
    if _watching.seen:  # it happened, and somebody caught the complaint
        raise Broken(_watching.seen)
    if _held()[2] > max(peak, now + MAX_BYTES):
        raise Broken(f"more than {MAX_BYTES / 2**30:g} GB of memory")
