"""Fuzz the readers of logs and policies: `make fuzz`, or

    python -m tests.fuzz.campaign --seconds 600 --seed 1 --out fuzz-crashers

Good files are damaged, blindly and knowingly, and read. Each must be read, or refused by a `UserError` of one line,
within 10 s and 2 GB, without executing, importing or writing anything. What is not goes to --out, with its story.
The same seed makes the same files.
"""

import argparse
import collections
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Decoded by libhdf5 and by polars, inside our process: rare damage makes these abort or hang where Python cannot catch
# it. Such deaths are counted, kept and shown; users are protected by guarded_read.py, which is left out here for speed.
FOREIGN = (".h5", ".hdf5", ".parquet")
LIBRARY_DIED = "died inside libhdf5 or polars"
PER_WORKER = 20_000  # files; a fresh process now and then keeps one file's leftovers from helping the next


def run_campaign(
    seed: int, files: int, seconds: float, out: Path, report: Callable[[str], None] = lambda line: None
) -> tuple[collections.Counter[str], list[str]]:
    """Outcomes by seed file, and the stories of the files that broke a promise."""
    outcomes: collections.Counter[str] = collections.Counter()
    stories: list[str] = []
    began, number = time.monotonic(), 0
    while number < files and time.monotonic() - began < seconds:
        left = seconds - (time.monotonic() - began)
        with tempfile.TemporaryDirectory(prefix="ropeval-fuzz-") as name:
            told = _work(Path(name), seed, number, min(PER_WORKER, files - number), left)
            outcomes.update(told["outcomes"])
            number = told["next"]
            report(f"{time.monotonic() - began:7.0f} s  {number:9,} files")
            if told["wrong"] is not None:
                if LIBRARY_DIED not in told["outcomes"]:
                    stories.append(told["wrong"])
                _keep(Path(name) / "current", out / f"{seed}-{number - 1}", told["wrong"])
    return outcomes, stories


def _work(folder: Path, seed: int, start: int, count: int, seconds: float) -> dict[str, Any]:
    """What one worker did, in a process of its own: a damaged file may kill it."""
    command = [sys.executable, "-m", "tests.fuzz.worker", *map(str, (folder, seed, start, count, seconds))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[2])
    lines = done.stdout.strip().splitlines()
    if lines and lines[-1].startswith("{"):
        return json.loads(lines[-1])
    story = f"the process died with code {done.returncode}: {done.stderr[-2000:]}"
    if not (folder / "number").exists():
        raise RuntimeError(f"the good files cannot be read: {story}")
    last = int((folder / "number").read_text())
    foreign = any(path.suffix in FOREIGN for path in (folder / "current").rglob("*"))
    died = LIBRARY_DIED if foreign else "died"
    return {"next": last + 1, "outcomes": {"not counted": last - start, died: 1}, "wrong": story}


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
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.seconds:g} s", flush=True)
    outcomes, stories = run_campaign(
        given.seed, given.files, given.seconds, given.out, lambda line: print(line, flush=True)
    )
    for name, count in sorted(outcomes.items()):
        print(f"{count:9,}  {name}")
    print(
        f"{outcomes.total():9,}  files, {len(stories)} of which broke a promise"
        + (f": see {given.out}" if stories else "")
    )
    return 1 if stories else 0


if __name__ == "__main__":
    sys.exit(main())
