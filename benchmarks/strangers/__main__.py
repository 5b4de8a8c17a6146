"""Run the tasks, keep what was said of each policy beside what is true, and write the tables. See `__init__.py`."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.strangers import environments, page, world
from benchmarks.strangers.open_people import PEOPLE
from benchmarks.strangers.open_things import THINGS
from benchmarks.strangers.task import Task
from benchmarks.strangers.worlds import WORLDS
from benchmarks.time_to_answer import HERE, hardware
from gymnasium.error import DependencyNotInstalled

import ropeval
from ropeval.evaluation.result import Estimate

SEED = 11
CLOSED_ROWS, OPEN_ROWS = HERE / "results" / "strangers.jsonl", HERE / "results" / "strangers-open.jsonl"
ONE_NUMBER = "one number"  # what a run ends with: `one_answer.py`

Tasks = dict[str, Callable[[int], Task]]
CLOSED: Tasks = {
    **{name: partial(world.make, made()) for name, made in WORLDS.items()},
    **{name: partial(environments.make, given) for name, given in environments.ENVIRONMENTS.items()},
}
OPEN: Tasks = {name: partial(world.make, made()) for name, made in {**THINGS, **PEOPLE}.items()}


def measure(name: str, make: Callable[[int], Task], seed: int) -> list[dict[str, Any]]:
    """One row for every policy and method, and one for the number to go by."""
    task = make(seed)
    log = ropeval.load_dataset(task.log)
    began = time.time()
    found = ropeval.compare(log, dict(task.policies), gamma=task.gamma, horizon=task.horizon)
    about = {"task": name, "seed": seed, "rows": len(log), "seconds": round(time.time() - began, 1)}
    about |= {"about": hardware(), "range": max(task.truth.values()) - min(task.truth.values())}
    by_method = [
        (one.policy, one.method, one.value, one.interval and (one.interval.low, one.interval.high), one.verdict, one)
        for one in found.estimates
    ]
    to_go_by = [(one.policy, ONE_NUMBER, one.value, (one.low, one.high), one.verdict, None) for one in found.answers]
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
            **(_signs(one) if one and one.signs else {}),
        }
        for policy, method, estimate, interval, verdict, one in [*by_method, *to_go_by]
    ]


def _signs(one: Estimate) -> dict[str, Any]:
    """What intervals and verdicts are made of, so that others can be tried on the same rows."""
    unseen = one.interval.unseen if one.interval else None
    return {"signs": one.signs, "members": one.members, "unseen": unseen, "replays": one.extras.get("replays")}


def known(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(CLOSED)}; default: all")
    parser.add_argument("--open", action="store_true", help=f"those to choose on instead: {', '.join(OPEN)}")
    parser.add_argument("--seed", type=int, default=SEED, help="of logs and of true values (default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="only write the tables, from the rows that there are")
    chosen = parser.parse_args()
    tasks, kept = (OPEN, OPEN_ROWS) if chosen.open else (CLOSED, CLOSED_ROWS)
    unknown = [name for name in chosen.tasks if name not in tasks]
    if unknown:
        sys.exit(f"unknown task {unknown[0]!r}; choose from: {', '.join(tasks)}")
    for name in [] if chosen.page else chosen.tasks or tasks:
        try:
            found = measure(name, tasks[name], chosen.seed)
        except DependencyNotInstalled as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        rows = [*[row for row in known(kept) if (row["task"], row["seed"]) != (name, chosen.seed)], *found]
        rows.sort(key=lambda row: (list(tasks).index(row["task"]), row["seed"]))
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"{name}: {found[0]['seconds']} s", flush=True)
    page.write_page(known(kept), ONE_NUMBER, page.OPEN if chosen.open else page.CLOSED)


if __name__ == "__main__":
    main()
