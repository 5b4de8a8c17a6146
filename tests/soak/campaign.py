"""Evaluate small logs over and over and watch what is held: `make soak`, or

    python -m tests.soak.campaign --minutes 480

Half of the time in one process, half in a fresh process each. Memory, open files, threads and temporary files must not
grow: the last third of the rounds is held against the second, since the first compiles and fills caches.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.problems import Chain, LinearQuadratic

SLACK = {"memory": 8 << 20, "files": 0, "threads": 0, "temporary": 0}  # what may be more at the end
SMALL = {"fqe": {"width": 8, "depth": 1, "steps": 50, "batch": 16}}


class Held(NamedTuple):
    memory: int  # bytes
    files: int
    threads: int
    temporary: int  # entries in the folder for temporary files


def held(temporary: Path) -> Held:
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * resource.getpagesize()
    return Held(memory, *(len(list(Path(p).iterdir())) for p in ("/proc/self/fd", "/proc/self/task", str(temporary))))


def grown(rounds: list[Held]) -> list[str]:
    """What the last third of the rounds holds beyond the second."""
    third = len(rounds) // 3
    if third == 0:
        return []
    found = []
    for name, slack in SLACK.items():
        before, after = (max(getattr(one, name) for one in part) for part in (rounds[third:-third], rounds[-third:]))
        if after > before + slack:
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


def one_round(number: int) -> None:
    """A log from Python, with another policy and seed every time; the shapes stay, so nothing is compiled anew."""
    import ropeval

    log = Chain().log(20) if number % 2 else LinearQuadratic().log(20)
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
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=480.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropeval-soak-") as name:
        temporary, folder = Path(name) / "tmp", Path(name) / "many"
        temporary.mkdir()
        folder.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        rounds = in_one_process(30 * given.minutes, temporary)
        for place in sorted({0, len(rounds) // 3, 2 * len(rounds) // 3, len(rounds) - 1}):
            print(f"round {place + 1:6,}: {rounds[place].memory / 2**20:8.1f} MB, {rounds[place]}", flush=True)
        for what, more in per_hundred(rounds).items():
            print(f"{what}: {more:+,.2f} {'bytes ' if what == 'memory' else ''}in 100 evaluations", flush=True)
        wrong = grown(rounds)
        count = in_many(30 * given.minutes, folder)
        left = [str(path) for path in temporary.iterdir()]
        left += [path.name for path in (folder / "out").iterdir() if path.name.startswith(".")]
        wrong += [f"left behind: {left}"] if left else []
    print(
        f"{len(rounds):,} evaluations in one process, {count:,} in processes of their own; "
        + ("; ".join(wrong) or "no growth")
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
