"""A guard around the reading of a file: nothing executed, imported or written, little memory, little time.

Python reports what it does to audit hooks (PEP 578), which cannot be taken off again; this one is silent outside the
guard. The limit of the address space and the alarm are the operating system's.
"""

import codecs
import contextlib
import resource
import signal
import sys
import threading
from collections.abc import Iterator

MAX_BYTES = 2 * 2**30
MAX_SECONDS = 10
FORBIDDEN = (
    "exec", "import", "os.", "subprocess.", "pty.", "shutil.", "socket.", "ctypes.", "code.", "webbrowser.",
    "marshal.", "pickle.find_class", "urllib.", "ftplib.", "smtplib.", "http.", "sys.addaudithook", "sys.setprofile",
)  # fmt: skip
# `compile` alone runs nothing: NumPy parses an array's header as a literal. What is compiled would be seen at `exec`.
HARMLESS = ("os.listdir", "os.scandir")  # looking at a folder that was given as a policy
_watching = threading.local()


for _name in ("ascii", "cp437", "latin_1", "raw_unicode_escape", "unicode_escape", "utf_8"):
    codecs.lookup(_name)  # Python imports its codecs when they are first used


class Broken(BaseException):
    """Not an Exception: code that catches everything must not catch this."""


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not getattr(_watching, "on", False):
        return
    writes = (
        event == "open" and len(arguments) > 1 and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    )
    if writes or (event.startswith(FORBIDDEN) and event not in HARMLESS):
        _watching.on = False
        _watching.seen = f"{event} {str(arguments)[:200]}"
        raise Broken(_watching.seen)


sys.addaudithook(_hook)


def _late(signum: int, frame: object) -> None:
    raise Broken(f"more than {MAX_SECONDS} s")


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + MAX_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    _watching.seen = None
    _watching.on = True
    try:
        yield
    finally:
        _watching.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if _watching.seen:  # it happened, and somebody caught the complaint
        raise Broken(_watching.seen)
