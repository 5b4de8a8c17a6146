"""Evaluate small logs over and over and watch what is held: `make soak`, or

    python -m tests.soak.campaign --minutes 480
    python -m tests.soak.campaign --minutes 120 --only many

Half of the time in one process, half in a fresh process each, or all of it in one of the two ways. Memory, open files,
threads and temporary files must not grow: the last third of the rounds is held against the second, since the first
compiles and fills caches.

Now and then a log has a size of its own, for which everything is compiled anew. That takes memory, and areas of it,
until ropeval lets go of what was compiled: at half of the areas that Linux allows. Here it is told that few are
allowed, so that this happens every few minutes; areas must stay below, and memory is judged from peak to peak.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ropeval import runtime
from tests.problems import Chain, LinearQuadratic

SLACK = {"memory": 32 << 20, "areas": 1000, "files": 0, "threads": 0, "temporary": 0}  # what may be more at the end
COMPILED = ("memory", "areas")  # these rise with every compiled program, until all are let go
OWN_SIZE_EVERY, OWN_SIZES = 20, 200  # rounds; the largest log is still small
TOLD_EVERY = 500  # processes
SMALL = {"fqe": {"width": 8, "depth": 1, "steps": 50, "batch": 16}}


class Held(NamedTuple):
    memory: int  # bytes
    areas: int  # of memory
    files: int
    threads: int
    temporary: int  # entries in the folder for temporary files


def held(temporary: Path) -> Held:
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * resource.getpagesize()
    with open("/proc/self/maps", "rb") as file:
        areas = sum(1 for _ in file)
    counts = (len(list(Path(p).iterdir())) for p in ("/proc/self/fd", "/proc/self/task", str(temporary)))
    return Held(memory, areas, *counts)


def releases(rounds: list[Held]) -> int:
    """How often compiled programs were let go: areas fall then, by thousands."""
    return sum(after.areas < before.areas - SLACK["areas"] for before, after in pairwise(rounds))


def grown(rounds: list[Held], allowed: int) -> list[str]:
    """What the last third of the rounds holds beyond the second, and areas beyond half of what is allowed.

    What rises with compiled programs is compared only where each third saw them let go: peak is held against peak.
    """
    most = max((one.areas for one in rounds), default=0)
    found = [f"areas: {most:,} of {allowed:,}"] if most > allowed // 2 + SLACK["areas"] else []
    third = len(rounds) // 3
    if third == 0:
        return found
    parts = rounds[third:-third], rounds[-third:]
    judged = [name for name in SLACK if all(map(releases, parts)) or name not in COMPILED]
    for name in judged:
        before, after = (max(getattr(one, name) for one in part) for part in parts)
        if after > before + SLACK[name]:
            found.append(f"{name}: from {before:,} to {after:,}")
    return found


def per_hundred(rounds: list[Held]) -> dict[str, float]:
    """How much each grows in 100 evaluations: a line through all rounds but the first third."""
    late = rounds[len(rounds) // 3 :]
    if len(late) < 2:
        return {}
    return {name: 100 * float(np.polyfit(range(len(late)), column, 1)[0]) for name, column in _columns(late).items()}


def _columns(rounds: list[Held]) -> dict[str, list[int]]:
    return dict(zip(Held._fields, map(list, zip(*rounds, strict=True)), strict=True))


def episodes(number: int) -> int:
    """Of a round's log. Mostly the same, so that nothing is compiled anew."""
    return 20 if number % OWN_SIZE_EVERY else 21 + number // OWN_SIZE_EVERY % OWN_SIZES


def one_round(number: int) -> None:
    """A log from Python, with another policy and seed every time."""
    import ropeval

    log = (Chain() if number % 2 else LinearQuadratic()).log(episodes(number))
    name = "uniform" if number % 3 else "other=uniform"
    found = ropeval.evaluate(log, ropeval.load_policy(name), "fqe", members=2, draws=1, settings=SMALL, seed=number)
    assert found.value is None or np.isfinite(found.value)


def in_one_process(seconds: float, temporary: Path) -> list[Held]:
    rounds: list[Held] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        one_round(len(rounds))
        rounds.append(held(temporary))
    return rounds


def in_many(seconds: float, folder: Path) -> int:
    """The command line, each time into the same folder; returns how often."""
    count, until = 0, time.monotonic() + seconds
    log = LinearQuadratic().log(20)
    names = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    np.savez(folder / "log.npz", **{name: getattr(log, name) for name in names})
    words = ["evaluate", "log.npz", "uniform", "--method", "mean-return", "--out", "out", "--overwrite", "--seed"]
    while time.monotonic() < until:
        command = [sys.executable, "-m", "ropeval", *words, str(count)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        count += 1
        if count % TOLD_EVERY == 0:  # it may be stopped before its end
            left = left_behind(folder) or "nothing"
            print(f"{count:,} processes, {core_hours():.2f} hours of a core; left behind: {left}", flush=True)
    return count


def core_hours() -> float:
    """What all processes that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 3600


def left_behind(folder: Path) -> list[str]:
    """Temporary files of processes that have ended, and hidden ones in the folder of results."""
    temporary = [str(path) for path in Path(tempfile.gettempdir()).iterdir()]
    return temporary + [path.name for path in (folder / "out").iterdir() if path.name.startswith(".")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=480.0)
    parser.add_argument("--only", choices=("one", "many"), help="process; both, if not given")
    parser.add_argument("--areas", type=int, default=8000, help="of memory: as if the system allowed no more")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropeval-soak-") as name:
        temporary, folder = Path(name) / "tmp", Path(name) / "many"
        temporary.mkdir()
        folder.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        os.environ["XDG_CACHE_HOME"] = str(Path(name) / "cache")
        runtime.prepare()  # as the command line does: what was let go is not compiled again
        runtime.AREAS_ALLOWED = Path(name) / "areas"
        runtime.AREAS_ALLOWED.write_text(str(given.areas))
        seconds = (30 if given.only is None else 60) * given.minutes
        rounds = in_one_process(seconds, temporary) if given.only != "many" else []
        for place in sorted({0, len(rounds) // 3, 2 * len(rounds) // 3, len(rounds) - 1}) if rounds else ():
            print(f"round {place + 1:6,}: {rounds[place].memory / 2**20:8.1f} MB, {rounds[place]}", flush=True)
        for what, more in per_hundred(rounds).items():
            print(f"{what}: {more:+,.2f} {'bytes ' if what == 'memory' else ''}in 100 evaluations", flush=True)
        print(f"compiled programs were let go {releases(rounds)} times", flush=True)
        wrong = grown(rounds, given.areas)
        count = in_many(seconds, folder) if given.only != "one" else 0
        left = left_behind(folder) if count else []
        wrong += [f"left behind: {left}"] if left else []
    print(
        f"{len(rounds):,} evaluations in one process, {count:,} in processes of their own; "
        + ("; ".join(wrong) or "no growth")
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
