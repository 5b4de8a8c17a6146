"""Kill runs, and look what is left: `make torture`, or

    python -m tests.torture.campaign --minutes 30 --seed 1 --out torture-failures

Every trial interrupts one of the verbs that write, up to three times (kill -9, SIGTERM, Ctrl-C at a random moment, a
full disk at a write), and then lets the same command go on. What it leaves must be what an undisturbed run leaves, file
by file and bit by bit, with nothing lost, doubled or left behind. First, the disk is full at every write of every verb.
"""

import argparse
import collections
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.torture.faults import HUNG, Ended, Fault, draw_fault, run, wait_for_orphans
from tests.torture.jobs import ENVIRONMENT, JOBS, Digest, Job, make_inputs, prepare

INTERRUPTED = 130


class Whole(NamedTuple):
    """What an undisturbed run takes and leaves."""

    seconds: float
    writes: int
    digest: Digest


def undisturbed(job: Job, inputs: Path, folder: Path) -> Whole:
    """The second of two runs: the first compiles."""
    for name in ("first", "whole"):
        prepare(job, inputs, folder / name)
        began = time.monotonic()
        ended = run(list(job.words), folder / name)
        if ended.code:
            raise RuntimeError(f"{job.name} cannot be run: {ended.said}")
    return Whole(time.monotonic() - began, ended.writes, job.digest(folder / name))


def trial(job: Job, inputs: Path, folder: Path, faults: list[Fault], whole: Whole) -> str | None:
    """What is wrong with what was left, if anything is."""
    prepare(job, inputs, folder)
    for place, fault in enumerate(faults):
        ended = run(list(job.again if place and job.again else job.words), folder, fault)
        wrong = _wrong_end(job, ended, fault)
        if wrong:
            return f"{fault}: {wrong}"
    orphans = wait_for_orphans(folder)
    if orphans:
        return f"still running: {orphans}"
    ended = run(list(job.again or job.words), folder)
    if ended.code and not _was_finished(job, ended):
        return f"did not go on: {ended.said}"
    return difference(job.digest(folder), whole.digest)


def _was_finished(job: Job, ended: Ended) -> bool:
    """A conversion that is done is refused the second time."""
    return not job.again and "exists already" in ended.said


def _wrong_end(job: Job, ended: Ended, fault: Fault) -> str | None:
    if ended.code == HUNG:
        return "it hung"
    if "Traceback" in ended.said or "Exception ignored" in ended.said:
        return ended.said
    finished = _was_finished(job, ended)
    if fault.signal:
        allowed = [0, -fault.signal] + ([INTERRUPTED] if fault.signal == signal.SIGINT else [])
        return None if ended.code in allowed or finished else f"exit {ended.code}: {ended.said}"
    return None if ended.code in (0, 2) or _units_failed(job, ended) else f"exit {ended.code}: {ended.said}"


def _units_failed(job: Job, ended: Ended) -> bool:
    """A study goes on without a unit that cannot be kept, and says so."""
    return job.name == "bench run" and ended.code == 1 and "failed" in ended.said


def difference(found: Digest, expected: Digest) -> str | None:
    lost, more = expected.keys() - found.keys(), found.keys() - expected.keys()
    other = [name for name in expected.keys() & found.keys() if expected[name] != found[name]]
    words = [
        f"{what}: {sorted(names)}" for what, names in (("lost", lost), ("left", more), ("differs", other)) if names
    ]
    return "; ".join(words) or None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--trials", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=Path("torture-failures"))
    parser.add_argument("--job", choices=[job.name for job in JOBS], help="only this one")
    parser.add_argument("--no-sweep", action="store_true", help="skip the full disk at every write")
    parser.add_argument("--first-write", type=int, default=1, help="begin the sweep there")
    given = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    jobs = [job for job in JOBS if given.job in (None, job.name)]
    done: collections.Counter[str] = collections.Counter()
    stories: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ropeval-torture-") as name:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = f"{name}/compiled"
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        inputs = Path(name) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        wholes = {}
        for job in jobs:
            place = Path(name) / job.name.replace(" ", "-")
            place.mkdir()
            wholes[job.name] = whole = undisturbed(job, inputs, place)
            print(f"{job.name}: {whole.seconds:.1f} s, {whole.writes} writes, {len(whole.digest)} files", flush=True)
        deadline = time.monotonic() + 60 * given.minutes  # the runs before it are not counted: they take as they take

        def attempt(job: Job, faults: list[Fault]) -> None:
            folder = Path(name) / "trial"
            wrong = trial(job, inputs, folder, faults, wholes[job.name])
            done[job.name] += 1
            done.update(str(fault).split(" ")[0] for fault in faults)
            if sum(done.values()) % 10 == 0:
                print(f"{deadline - time.monotonic():7.0f} s left; {dict(done)}", flush=True)
            if wrong:
                story = f"{job.name}, {', '.join(map(str, faults))}: {wrong}"
                stories.append(story)
                print(f"WRONG {story}", flush=True)
                shutil.copytree(folder, given.out / str(len(stories)), dirs_exist_ok=True)
            shutil.rmtree(folder)

        for job in jobs if not given.no_sweep else ():
            for write in range(given.first_write, wholes[job.name].writes + 1):
                if time.monotonic() < deadline:
                    attempt(job, [Fault(write=write)])
        rng, number = np.random.default_rng(given.seed), 0
        while time.monotonic() < deadline and number < given.trials:
            job = jobs[int(rng.integers(len(jobs)))]
            whole = wholes[job.name]
            faults = [draw_fault(rng, whole.seconds, whole.writes) for _ in range(int(rng.choice([1, 1, 2, 3])))]
            attempt(job, faults)
            number += 1
    for what, count in sorted(done.items()):
        print(f"{count:7,}  {what}")
    print(f"seed {given.seed}: {len(stories)} trials went wrong" + (f", see {given.out}" if stories else ""))
    return 1 if stories else 0


if __name__ == "__main__":
    sys.exit(main())
