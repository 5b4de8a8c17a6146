"""How long FQE has to train, and how fast it may: one long training of each setting, read off as it goes.

    python -m benchmarks.fqe_steps --data ropeval-data --out fqe-steps --tasks 'suite/*' --members 3
    python -m benchmarks.fqe_steps --data ropeval-data --out try --tasks suite/cartpole-mixture-5k --steps 400
    python -m benchmarks.fqe_steps --out benchmarks/results/fqe-steps --summarise

The first is for a GPU; several processes may share --out, each takes logs that no other is at. Only policies of the
`dev` part are judged. The error is that of the members' mean, cut to what the rewards allow, as a share of the range
of the true values of all the log's policies.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import program
from benchmarks.dev_rows import Dev, carry_out, keep, options_of, rows

from ropeval.files import locked

TASKS = ["suite/cartpole-mixture-5k", "suite/pendulum-weak-20k"]
BASE = {"width": 256, "learning_rate": 3e-4, "tau": 0.02}
FAST = {"width": 256, "learning_rate": 1e-3, "tau": 0.05}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {  # name in the table -> method and settings
    "fqe": ("fqe", BASE),
    "fqe, τ 0.05, rate 1e-3": ("fqe", FAST),
    "fqe-clip": ("fqe-clip", BASE),
    "fqe-clip, τ 0.05": ("fqe-clip", BASE | {"tau": 0.05}),
    "fqe-clip, τ 0.05, rate 1e-3": ("fqe-clip", FAST),
    "fqe-clip, τ 0.05, rate 1e-3, width 64": ("fqe-clip", FAST | {"width": 64}),
}
STEPS = 16_000
READ_AT = (1_200, 3_000, 6_000, 10_000, 16_000)  # the point of the curve that comes next


def run(options: argparse.Namespace) -> None:
    from ropeval.bench.data.task_data import load_task
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.runtime import prepare

    prepare()
    for task in find_tasks(options.tasks):
        with locked(options.out / "claims" / task.name.replace("/", "-")) as ours:
            if ours and task.split == "dev":
                one_log(load_task(task, options.data), options)


def one_log(data: Any, options: argparse.Namespace) -> None:
    import ropeval
    from ropeval.data import Log

    dev, task = Dev.of(data), data.task
    done = {(row["policy"], row["setting"]) for row in rows(options.out) if row["task"] == task.name}
    low, high = Log(data.dataset, task.gamma).bounds
    truths = [one.truth.discounted.value for one in data.judged.values()]
    for name, judged in dev.best(options.policies):
        for setting, (method, own) in SETTINGS.items():
            if (name, setting) in done:
                continue
            found = ropeval.evaluate(
                data.dataset, judged.policy, method, gamma=task.gamma, members=options.members,
                settings={method: own | {"steps": options.steps}},
            )  # fmt: skip
            told = [(row["step"], row["value"]) for row in found.curves if row["metric"] == "estimate"]
            points = sorted({step for step, _ in told})
            curve = [np.mean([value for at, value in told if at == step]) for step in points]
            row = {
                "task": task.name, "family": task.family, "rows": len(data.dataset), "policy": name, "setting": setting,
                "truth": judged.truth.discounted.value, "range": max(truths) - min(truths),
                "read": {str(at): float(np.clip(read(points, curve, at), low, high)) for at in READ_AT},
            }  # fmt: skip
            keep(options.out, row)
            print(task.name, name, setting, row["read"], row["truth"], flush=True)


def read(points: list[int], curve: list[Any], at: int) -> float:
    return float(curve[min(int(np.searchsorted(points, at)), len(points) - 1)])


def table(out: Path) -> Iterator[str]:
    """Mean and median error by how long was trained, on cases that have all settings."""
    found = rows(out)
    known: dict[tuple[str, str], int] = {}
    for row in found:
        case = row["task"], row["policy"]
        known[case] = known.get(case, 0) + 1
    found = [row for row in found if known[row["task"], row["policy"]] == len(SETTINGS)]
    for kind in ("logs up to 20,000 rows", "logs of 100,000 rows and more", "locomotion"):
        own = [row for row in found if kind_of(row) == kind]
        if not own:
            continue
        yield f"\n{kind}: {len({(row['task'], row['policy']) for row in own})} cases\n"
        yield "| | " + " | ".join(f"{at:,} steps" for at in READ_AT) + " |"
        yield "|---|" + "--:|" * len(READ_AT)
        for setting in SETTINGS:
            errors = np.array([errors_of(row) for row in own if row["setting"] == setting])  # [cases, READ_AT]
            cells = [f"{each.mean():.3f} ({np.median(each):.3f})" for each in errors.T]
            yield f"| {setting} | {' | '.join(cells)} |"


def kind_of(row: dict[str, Any]) -> str:
    if row["family"] == "locomotion":
        return "locomotion"
    return "logs up to 20,000 rows" if row["rows"] <= 25_000 else "logs of 100,000 rows and more"


def errors_of(row: dict[str, Any]) -> list[float]:
    return [abs(row["read"][str(at)] - row["truth"]) / row["range"] for at in READ_AT]


def main() -> None:
    parser = options_of(__doc__, TASKS, policies=100)
    parser.add_argument("--steps", type=int, default=STEPS)
    carry_out(parser.parse_args(), run, table)


if __name__ == "__main__":
    program.run(main)
