"""Where the time of a process goes: that of every thread, cut into stretches of one part each.

A function that is timed counts for its part, less what it spends in other timed ones. Compiling (tracing, lowering, the
compiler or its cache) is told by JAX when it is over, in the thread that did it, and is then cut out of the stretch
that it fell into. A thread that waits for another to compile is where it waits. Seconds count from the process's start.
"""

import sys
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

COMPILING = "compiling"
IDLE = ""  # a thread that waits for work
SHORTEST = 0.1  # seconds: what is shorter is counted, but not listed
GAP = 0.02  # seconds between two stretches of one part, which are one then
LISTED = 25  # longest stretches in the table
Part = str | Callable[..., str]  # or what makes it of a call's arguments


class Stretch(NamedTuple):
    start: float
    end: float
    part: str

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Clock:
    def __init__(self, began: float) -> None:
        self.began = began
        self.programs: list[tuple[float, str]] = []  # seconds in the compiler, or in its cache
        self.cached = 0  # programs that were found there
        self._stretches: dict[str, list[Stretch]] = defaultdict(list)  # by thread
        self._compiling: dict[str, list[Stretch]] = defaultdict(list)
        self._now = threading.local()  # what a thread is at, and since when
        self._now.part, self._now.since = "import", 0.0  # of the main thread: Python itself comes first

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        outer = self._turn(name)
        try:
            yield
        finally:
            self._turn(outer)

    def _turn(self, name: str) -> str:
        now, part = time.time() - self.began, getattr(self._now, "part", IDLE)
        if part != IDLE:
            self._stretches[threading.current_thread().name].append(Stretch(self._now.since, now, part))
        self._now.part, self._now.since = name, now
        return part

    def timed(self, part: Part, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            with self.part(part if isinstance(part, str) else part(*given, **named)):
                return function(*given, **named)

        return call

    def time_everywhere(self, place: str, part: Part) -> None:
        """`module:name`, in every module that imported it."""
        module, name = place.split(":")
        home: Any = import_module(module)
        *owner, name = name.split(".")
        for step in owner:
            home = getattr(home, step)
        original = getattr(home, name)
        timed = self.timed(part, original)
        setattr(home, name, timed)
        for other in [m for n, m in sys.modules.items() if n.startswith("ropeval")]:
            if vars(other).get(name) is original:
                setattr(other, name, timed)

    def heard(self, event: str, duration_secs: float, **about: str | int) -> None:
        if not event.startswith("/jax/core/compile/"):
            return
        now, program = time.time() - self.began, str(about.get("fun_name", "?")).removeprefix("jit(").removesuffix(")")
        spent = Stretch(now - duration_secs, now, f"{COMPILING}: {program}")
        self._compiling[threading.current_thread().name].append(spent)
        if event == "/jax/core/compile/backend_compile_duration":
            self.programs.append((round(duration_secs, 2), program))

    def counted(self, event: str, **_: Any) -> None:
        self.cached += event == "/jax/compilation_cache/cache_hits"

    def threads(self) -> dict[str, list[Stretch]]:
        """What every thread did, in order."""
        self._turn(getattr(self._now, "part", IDLE))
        return {name: _cut(self._stretches[name], apart(self._compiling[name])) for name in list(self._stretches)}

    def main_thread(self) -> dict[str, float]:
        """Seconds by part, without what comes after its colon. While anything compiles, in any thread, that counts."""
        self._turn(getattr(self._now, "part", IDLE))
        anywhere = apart([one for own in self._compiling.values() for one in own])
        found: dict[str, float] = defaultdict(float)
        for one in _cut(self._stretches[threading.main_thread().name], anywhere):
            found[one.part.partition(":")[0]] += one.seconds
        return {part: round(seconds, 2) for part, seconds in found.items()}


def apart(spans: list[Stretch]) -> list[Stretch]:
    """The same time without overlaps: what lies within another goes by that one's name."""
    found: list[Stretch] = []
    for one in sorted(spans, key=lambda span: (span.start, -span.end)):
        start = max(one.start, found[-1].end) if found else one.start
        if one.end > start:
            found.append(one._replace(start=start))
    return found


def _cut(stretches: list[Stretch], compiling: list[Stretch]) -> list[Stretch]:
    """The stretches of a thread, without the time in which it compiled; and that, in its place."""
    found: list[Stretch] = []
    ends = [span.end for span in compiling]
    for one in stretches:  # there may be 100,000 of them
        start = one.start
        for span in compiling[bisect_left(ends, one.start) :]:
            if span.start >= one.end:
                break
            since, until = max(span.start, one.start), min(span.end, one.end)
            found += [Stretch(start, since, one.part), Stretch(since, until, span.part)]
            start = until
        found.append(Stretch(start, one.end, one.part))
    return [one for one in found if one.seconds > 0.0]


def joined(stretches: list[Stretch]) -> list[Stretch]:
    """Without the short ones, and with those of one part that hardly lie apart as one."""
    found: list[Stretch] = []
    for one in stretches:
        if found and found[-1].part == one.part and one.start - found[-1].end < GAP:
            found[-1] = found[-1]._replace(end=one.end)
        elif one.seconds >= GAP:
            found.append(one)
    return [one for one in found if one.seconds >= SHORTEST]


def timeline(threads: dict[str, list[Stretch]]) -> dict[str, Any]:
    """As it is kept: of every thread that did something seconds by part, and the stretches as `start end part`."""
    found = {}
    for name, stretches in threads.items():
        seconds: dict[str, float] = defaultdict(float)
        for one in stretches:
            seconds[one.part] += one.seconds
        parts = {part: round(spent, 2) for part, spent in sorted(seconds.items(), key=lambda item: -item[1])}
        parts = {part: spent for part, spent in parts.items() if spent >= SHORTEST}
        if not parts:  # of 20 million rows and 100 policies there are 5,000 threads
            continue
        found[name] = {
            "seconds": parts,
            "stretches": [f"{one.start:.2f} {one.end:.2f} {one.part}" for one in joined(stretches)],
        }
    return found


def table(kept: dict[str, Any]) -> str:
    """Of what `timeline` gave: lane, part, seconds; then the longest stretches in the order in which they began."""
    lines = [f"{'thread':28}{'part':44}{'s':>8}"]
    lines += [
        f"{thread:28}{part:44}{seconds:8.2f}"
        for thread, own in kept.items()
        for part, seconds in own["seconds"].items()
    ]
    every = []
    for thread, own in kept.items():
        for line in own["stretches"]:
            start, end, part = line.split(" ", 2)
            every.append((float(start), float(end), part, thread))
    longest = sorted(sorted(every, key=lambda one: one[0] - one[1])[:LISTED])
    lines += ["", f"{'from':>8}{'to':>8}{'s':>8}  {'thread':28}part"]
    lines += [f"{a:8.2f}{b:8.2f}{b - a:8.2f}  {thread:28}{part}" for a, b, part, thread in longest]
    return "\n".join(lines)
