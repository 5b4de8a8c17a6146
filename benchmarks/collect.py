"""How fast a task's log is collected, and read back.

    python benchmarks/collect.py --policies DIR [--processes 2] [--out benchmarks/results/collect-cpu.md]

Collects each log in full (without the true values), opens it, and looks at every row. Writes a table with hardware,
versions, command and commit, and with the load of the machine before it began: other work on it shows in the rates.
"""

import argparse
import os
import platform
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from ropeval.bench.data.collect import collect
from ropeval.bench.data.tasks import find_tasks
from ropeval.data.columns import open_columns
from ropeval.provenance import commit
from ropeval.runtime import processor

TASKS = ["d4rl/hopper-medium", "d4rl/hopper-random"]


def measure(name: str, policies: Path, processes: int) -> str:
    (task,) = find_tasks([name])
    with tempfile.TemporaryDirectory() as folder:
        load = os.getloadavg()[0]
        started, spent = time.perf_counter(), _children()
        place = collect(task, Path(folder), policies, processes=processes, truth_episodes=2) / "log"
        collecting, spent = time.perf_counter() - started, _children() - spent
        started = time.perf_counter()
        log = open_columns(place)
        opening = time.perf_counter() - started
        started = time.perf_counter()
        total = float(log.observations.sum() + log.next_observations.sum() + log.actions.sum() + log.rewards.sum())
        reading = time.perf_counter() - started
        assert total == total
        size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
        shutil.rmtree(place)
    return (
        f"| {name} | {len(log):,} | {log.num_episodes:,} | {processes} | {collecting:.1f} s | "
        f"{len(log) / collecting:,.0f} | {spent:.0f} s | "
        f"{opening:.2f} s | {reading:.2f} s | {size:.0f} MB | {load:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=TASKS)
    parser.add_argument("--policies", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.tasks:
        rows.append(measure(name, arguments.policies, arguments.processes))
        print(rows[-1], flush=True)
    versions = ", ".join(f"{name} {version(name)}" for name in ("gymnasium", "mujoco", "numpy"))
    page = "\n".join([
        "# Collecting logs",
        "",
        f"`python benchmarks/collect.py {' '.join(arguments.tasks)} --policies DIR --processes {arguments.processes}`; "
        f"{os.cpu_count()} cores ({processor()}), Python {platform.python_version()}, {versions}, commit {commit()}. "
        "*load* is the machine's one-minute load before collecting began; *CPU* is what the collecting processes used.",
        "",
        "| task | transitions | episodes | processes | wall | per second | CPU | opening | reading | size | load |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip
    if arguments.out:
        arguments.out.write_text(page, encoding="utf-8")
    print(page)


def _children() -> float:
    """CPU seconds of finished child processes."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
