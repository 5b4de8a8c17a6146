"""What stops FQE from diverging, and what makes it right: its relatives, and a published recipe part by part.

    python -m benchmarks.stable_fqe --data ropeval-data --out stable-fqe
    python -m benchmarks.stable_fqe --data ropeval-data --out stable-fqe --tasks 'suite/*' --members 5 \\
        --recipe-steps 1000000
    python -m benchmarks.stable_fqe --out stable-fqe --summarise

The first takes some minutes a log on two cores; the second is the whole, and wants a GPU. Only policies of the `dev`
part are judged. Every row is kept as it is made: an interrupted run goes on.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.dev_rows import Dev, carry_out, keep, options_of, rows

from ropeval.estimators import ESTIMATORS
from ropeval.estimators.fqe import DOPE

TASKS = ["suite/icu-200", "suite/mountaincar-mixture-5k"]
RECIPE_STEPS = 20_000
Variant = tuple[str, dict[str, Any]]


def variants(recipe_steps: int, width: int | None) -> dict[str, Variant]:
    """Name in the table -> method and settings."""
    recipe = DOPE | {"steps": recipe_steps}
    found: dict[str, Variant] = {name: (name, {}) for name in ("mean-return", "fqe", "fqe-clip", "fqe-ln")}
    found |= {
        "fqe, τ 0.005": ("fqe", {"tau": 0.005}),
        "the recipe": ("fqe", recipe),
        "the recipe, not clipped": ("fqe", recipe | {"clip_targets": False}),
        "the recipe, τ 0.02": ("fqe", recipe | {"tau": 0.02}),
    }
    relatives = ("fqe-hl", "fqe-horizon", "retrace", "tree-backup", "q-lambda", "wdr", "magic", "wpdis", "sope")
    found |= {name: (name, {}) for name in relatives}
    if width is None:
        return found
    trained = {name for name, (method, _) in found.items() if "width" in ESTIMATORS[method].config.model_fields}
    return {
        name: (method, {**settings, "width": width} if name in trained else settings)
        for name, (method, settings) in found.items()
    }


def run(options: argparse.Namespace) -> None:
    import ropeval
    from ropeval.bench.data.task_data import load_task
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.data import Log
    from ropeval.runtime import prepare

    prepare()
    done = {(row["task"], row["policy"], row["variant"]) for row in rows(options.out)}
    for task in find_tasks(options.tasks):
        if task.split != "dev":
            continue
        data = load_task(task, options.data)
        dev = Dev.of(data)
        bounds = Log(data.dataset, task.gamma).bounds  # an estimate beyond them is reported as the bound itself
        for variant, (method, settings) in variants(options.recipe_steps, options.width).items():
            for name, judged in dev.best(options.policies):
                if (task.name, name, variant) in done or (options.variants and variant not in options.variants):
                    continue
                truth = judged.truth.discounted.value
                row = {"task": task.name, "policy": name, "variant": variant, "truth": truth, "range": dev.wide}
                began = time.perf_counter()
                try:
                    found = ropeval.evaluate(
                        data.dataset, judged.policy, method, gamma=task.gamma, members=options.members,
                        settings={method: settings} if settings else {},
                    )  # fmt: skip
                    row |= {"value": found.value, "members": found.members, "extras": found.extras}
                    row["diverged"] = len(found.diverged)
                    row["at_bound"] = found.value is not None and bool(np.isclose(found.value, bounds).any())
                except ropeval.UserError as error:
                    row["refused"] = str(error)
                row["seconds"] = round(time.perf_counter() - began, 1)
                keep(options.out, row)
                print(task.name, name, variant, row.get("value"), truth, row["seconds"], flush=True)


def table(out: Path) -> Iterator[str]:
    """Median error over the policies, as a share of the range of true values; policies whose estimate ran into what
    the rewards allow, or that no member found a finite value for; seconds."""
    found = rows(out)
    tasks = list(dict.fromkeys(row["task"] for row in found))
    yield "| | " + " | ".join(f"{task} | ran away | seconds" for task in tasks) + " |"
    yield "|---|" + "---|" * 3 * len(tasks)
    for variant in dict.fromkeys(row["variant"] for row in found):
        cells = []
        for task in tasks:
            own = [row for row in found if (row["task"], row["variant"]) == (task, variant) and "refused" not in row]
            errors = [abs(row["value"] - row["truth"]) / row["range"] for row in own if row["value"] is not None]
            cells += [f"{np.median(errors):.1%}" if errors else "–"]
            cells += [f"{sum(row['at_bound'] or row['value'] is None for row in own)} of {len(own)}"]
            cells += [f"{np.mean([row['seconds'] for row in own]):.0f}" if own else "–"]
        yield f"| {variant} | {' | '.join(cells)} |"


def main() -> None:
    parser = options_of(__doc__, TASKS, policies=100)
    parser.add_argument("--variants", nargs="+", help="some rows of the table; all, if not given")
    parser.add_argument("--width", type=int, help="of every hidden layer; if not given, each method's own")
    parser.add_argument("--recipe-steps", type=int, default=RECIPE_STEPS)
    carry_out(parser.parse_args(), run, table)


if __name__ == "__main__":
    main()
