"""What `ropeval evaluate` costs as a log grows that lies on disk in ropeval's own form: CPU seconds, clock, memory.

    python -m benchmarks.growth --millions 1 20                          default settings
    python -m benchmarks.growth --millions 1 20 100 --steps 20 --members 2

The log is the demo's pendulum again and again (3 observations, 1 action, 37 bytes a row), written part by part; one
policy, which draws 8 actions per state; default methods. Each run is the typed command in a process of its own, the
second of two where --again is given, so that programs are compiled. Policies' draws take 32 bytes a row in a scratch
file (TMPDIR) where they are not held. A case that is measured again replaces its row.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

from benchmarks.resident import Watch
from benchmarks.time_to_answer import HERE, hardware, policy_words


def make_log(folder: Path, rows: int) -> None:
    from ropeval.data import ColumnsWriter, load_dataset

    with resources.as_file(resources.files("ropeval.demo") / "log.npz") as file:
        part = load_dataset(str(file))
    with ColumnsWriter(folder, {"made by": "benchmarks/growth.py"}) as writer:
        for _ in range(-(-rows // len(part))):
            writer.append(part)


def run_command(log: Path, out: Path, more: list[str]) -> dict[str, Any]:
    load, began = os.getloadavg()[0], time.time()
    command = [sys.executable, "-m", "ropeval", "evaluate", str(log), *policy_words(1), "--out", str(out), *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = Watch(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    return {
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "seconds": round(time.time() - began, 1),
        **watch.peak(),
        "load_average_before": round(load, 2),
    }


def keep(new: dict[str, Any], target: Path) -> None:
    known = json.loads(target.read_text()) if target.exists() else []
    by_case = {(row["millions"], str(row["steps"]), row["members"]): row for row in [*known, new]}
    target.write_text(json.dumps([by_case[case] for case in sorted(by_case)], indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1.0, 20.0], help="rows")
    parser.add_argument("--steps", type=int, help="of every training; default: the methods' own")
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="run twice and keep the second")
    parser.add_argument("--save", type=Path, default=HERE / "results" / "growth.json")
    chosen = parser.parse_args()
    more = ["--members", str(chosen.members), *([] if chosen.steps is None else ["--steps", str(chosen.steps)])]
    for millions in chosen.millions:
        with tempfile.TemporaryDirectory() as place:
            make_log(Path(place) / "log", round(1e6 * millions))
            for which in range(1 + chosen.again):
                found = run_command(Path(place) / "log", Path(place) / f"out{which}", more)
        row = {"millions": millions, "steps": chosen.steps or "default", "members": chosen.members, **found}
        keep({**row, "about": hardware()}, chosen.save)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
