"""Run the tasks, keep what was said of each policy beside what is true, and write the tables. See `__init__.py`."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.strangers import environments, worlds
from benchmarks.strangers.page import write_page
from benchmarks.strangers.task import Task
from benchmarks.time_to_answer import HERE, hardware
from gymnasium.error import DependencyNotInstalled

import ropeval

SEED = 11
ROWS = HERE / "results" / "strangers.jsonl"
ONE_NUMBER = "one number"  # what a run ends with: `one_answer.py`

TASKS: dict[str, Callable[[int], Task]] = {
    **{name: partial(worlds.make, world()) for name, world in worlds.WORLDS.items()},
    **{name: partial(environments.make, given) for name, given in environments.ENVIRONMENTS.items()},
}


def measure(name: str) -> list[dict[str, Any]]:
    """One row for every policy and method, and one for the number to go by."""
    task = TASKS[name](SEED)
    log = ropeval.load_dataset(task.log)
    began = time.time()
    found = ropeval.compare(log, dict(task.policies), gamma=task.gamma, horizon=task.horizon)
    about = {"task": name, "rows": len(log), "seconds": round(time.time() - began, 1), "about": hardware()}
    about["range"] = max(task.truth.values()) - min(task.truth.values())
    by_method = [
        (one.policy, one.method, one.value, one.interval and (one.interval.low, one.interval.high), one.verdict)
        for one in found.estimates
    ]
    to_go_by = [(one.policy, ONE_NUMBER, one.value, (one.low, one.high), one.verdict) for one in found.answers]
    return [
        {
            **about,
            "policy": policy,
            "method": method,
            "truth": task.truth[policy],
            "estimate": estimate,
            "interval": interval,
            "verdict": verdict and verdict.word,
            "expected": verdict and verdict.error,
            "because": verdict and verdict.reason,
        }
        for policy, method, estimate, interval, verdict in [*by_method, *to_go_by]
    ]


def known() -> list[dict[str, Any]]:
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), help=f"of {', '.join(TASKS)}; default: all")
    parser.add_argument("--page", action="store_true", help="only write the tables, from the rows that there are")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.tasks if name not in TASKS]
    if unknown:
        sys.exit(f"unknown task {unknown[0]!r}; choose from: {', '.join(TASKS)}")
    for name in [] if chosen.page else chosen.tasks:
        try:
            found = measure(name)
        except DependencyNotInstalled as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        rows = [*[row for row in known() if row["task"] != name], *found]
        rows.sort(key=lambda row: list(TASKS).index(row["task"]))
        ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"{name}: {found[0]['seconds']} s", flush=True)
    write_page(known(), ONE_NUMBER)


if __name__ == "__main__":
    main()
