"""Fuzz the readers of logs and policies: `make fuzz`, or

    python -m tests.fuzz.campaign --seconds 600 --seed 1 --out fuzz-crashers

Good files are damaged, blindly and knowingly, and read. Each must be read, or refused by a `UserError` of one line,
within 10 s and 2 GB, without executing, importing or writing anything. What is not goes to --out, with its story.
The same seed makes the same files. With --record FILE, counts are kept there as they come, and the next campaign goes
on where that one was stopped or killed: 500,000 files add up over many nights.
"""

import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.record import Record

# Decoded by libhdf5 and by polars, inside our process: rare damage makes these abort or hang where Python cannot catch
# it. Such deaths are counted, kept and shown; users are protected by guarded_read.py, which is left out here for speed.
FOREIGN = (".h5", ".hdf5", ".parquet")
LIBRARY_DIED = "died inside libhdf5 or polars"
PER_WORKER = 20_000  # files; a fresh process now and then keeps one file's leftovers from helping the next
CURRENT = "current"  # in a worker's folder: the number of the file at hand, and where it lies
IN_MEMORY = Path("/dev/shm")  # where there is one: files are written and read many times a second


def run_campaign(
    seed: int,
    files: int,
    seconds: float,
    out: Path,
    report: Callable[[dict[str, Any]], None] = lambda told: None,
    start: int = 0,
) -> tuple[collections.Counter[str], list[str]]:
    """Outcomes by seed file, and the stories of the files that broke a promise; from the `start`-th file on."""
    outcomes: collections.Counter[str] = collections.Counter()
    stories: list[str] = []
    began, number, end = time.monotonic(), start, start + files
    while number < end and time.monotonic() - began < seconds:
        left = seconds - (time.monotonic() - began)
        with tempfile.TemporaryDirectory(prefix="ropeval-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
            for told in _work(Path(name), seed, number, min(PER_WORKER, end - number), left):
                outcomes.update(told["outcomes"])
                number = told["next"]
                if told["wrong"] is not None:
                    if LIBRARY_DIED not in told["outcomes"]:
                        stories.append(told["wrong"])
                    _keep(Path(name) / "good" / told["place"], out / f"{seed}-{number - 1}", told["wrong"])
                report(told)
    return outcomes, stories


def _work(folder: Path, seed: int, start: int, count: int, seconds: float) -> Iterator[dict[str, Any]]:
    """What one worker did, as it tells it, in a process of its own: a damaged file may kill it."""
    command = [sys.executable, "-m", "tests.fuzz.worker", *map(str, (folder, seed, start, count, seconds))]
    said = folder / "said"
    with said.open("w") as errors:
        worker = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=Path(__file__).resolve().parents[2],
            env=os.environ | {"RUST_BACKTRACE": "0"},
        )  # fmt: skip
        told: dict[str, Any] = {"next": start, "wrong": None}
        try:
            for line in worker.stdout or ():
                told = json.loads(line)
                if told["wrong"] is not None:
                    told["place"] = _current(folder)[1]
                yield told
            worker.wait()
        finally:
            worker.kill()
            worker.wait()
    if worker.returncode == 0 or told["wrong"] is not None:
        return
    story = f"the process died with code {worker.returncode}: {said.read_text(errors='replace')[-2000:]}"
    if not (folder / CURRENT).exists():
        raise RuntimeError(f"the good files cannot be read: {story}")
    last, place = _current(folder)
    foreign = any(path.suffix in FOREIGN for path in (folder / "good" / place).rglob("*"))
    died = LIBRARY_DIED if foreign else "died"
    counts = {"not counted": last - told["next"], died: 1}
    yield {"next": last + 1, "outcomes": counts, "wrong": story, "place": place}


def _current(folder: Path) -> tuple[int, str]:
    number, place = (folder / CURRENT).read_text().split()
    return int(number), place


def _keep(current: Path, place: Path, story: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(current, place, dirs_exist_ok=True)
    (place.parent / f"{place.name}.txt").write_text(story + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--files", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=Path("fuzz-crashers"))
    parser.add_argument("--record", type=Path, help="keep counts here, and go on from them (with their seed)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # with all that is cleared away on the way out
    record = Record.read(given.record, given.seed)
    print(f"seed {record.seed} from file {record.next:,} on, {given.seconds:g} s", flush=True)
    began = time.monotonic()

    def report(told: dict[str, Any]) -> None:
        record.add(told)
        print(f"{time.monotonic() - began:7.0f} s  {record.next:9,} files", flush=True)

    outcomes, stories = run_campaign(record.seed, given.files, given.seconds, given.out, report, record.next)
    for name, count in sorted(outcomes.items()):
        print(f"{count:9,}  {name}")
    found = f"{len(stories)} of which broke a promise" + (f": see {given.out}" if stories else "")
    print(f"{outcomes.total():9,}  files in {time.monotonic() - began:,.0f} s, {found}")
    if given.record:
        print(record.summary())
    return 1 if stories else 0


if __name__ == "__main__":
    sys.exit(main())
