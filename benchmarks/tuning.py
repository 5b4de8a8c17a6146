"""What `--tune` is worth: the error of what the tournament chooses, of the default, and of the best in hindsight.

    python benchmarks/tuning.py                                               # the demo task alone
    python benchmarks/tuning.py --policies DIR --out tuning-result   # and logs of Hopper and Walker2d

For every policy and method all candidates are fitted once, in one run. The choice is made from the log; the errors are
then looked up with the true values. Logs and true values of the MuJoCo tasks are those of ranking.py. Every line is
kept in OUT/rows.jsonl as it comes, and an interrupted run goes on.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.ranking import GAMMA, prepare  # noqa: E402

from ropeval.data import Dataset, load_dataset, make_problem  # noqa: E402
from ropeval.evaluation.methods import make_method  # noqa: E402
from ropeval.evaluation.tune import tune  # noqa: E402
from ropeval.policies import Policy, load_policy  # noqa: E402
from ropeval.provenance import commit  # noqa: E402

METHODS = ("fqe", "rope+fqe", "rope-range+fqe")
DEFAULT = {"learning_rate": 3e-4, "beta": 1.0, "dim": "X/2"}
DEMO = {part: {"width": 64, "steps": steps, "tau": 0.05} for part, steps in
        (("fqe", 10_000), ("rope", 5_000), ("rope-range", 5_000))}  # fmt: skip
DRAWS = 2
PARTS = tuple(DEMO)


def questions(options: argparse.Namespace) -> "Iterator[Question]":
    """(task, log, policy, true value, γ, settings)."""
    demo = ROOT / "src/ropeval/demo"
    known = json.loads((demo / "truth.json").read_text())
    log = load_dataset(demo / "log.npz")
    for name, truth in known["policies"].items():
        yield "demo", log, load_policy(demo / "policies" / f"{name}.npz"), truth["value"], known["gamma"], DEMO
    for task in ("hopper", "walker") if options.policies else ():
        folder = options.out / task
        measured = prepare(task, folder, options.policies, options.log_steps, options.truth_episodes)
        log = load_dataset(folder / "log.npz")
        for number in options.number or (2, 6, 10):
            name = f"{task}_online_{number}"
            policy = load_policy(options.policies / f"{name}.npz")
            yield task, log, policy, measured[name]["value"], GAMMA, {}


Question = tuple[str, Dataset, Policy, float, float, dict[str, Any]]


def ask(question: Question, method: str) -> dict[str, Any]:
    task, log, policy, truth, gamma, settings = question
    began = time.perf_counter()
    problem = make_problem(log, policy, gamma, draws=DRAWS)
    found = tune(problem, make_method(method, settings), key=0)
    assert found is not None
    errors = [None if value is None else abs(value - truth) for value in found.values]
    finite = [e for e, loss in zip(errors, found.losses, strict=True) if e is not None and loss is not None]
    default = [all(DEFAULT[k.partition(".")[2]] == v for k, v in c.items()) for c in found.candidates].index(True)
    return {
        "task": task, "policy": policy.name, "method": method, "truth": truth, "chosen": found.chosen,
        "error_chosen": errors[found.candidates.index(found.chosen)] if found.chosen else None,
        "error_default": errors[default] if found.losses[default] is not None else None,
        "error_best": min(finite) if finite else None, "error_median": float(np.median(finite)) if finite else None,
        "candidates": len(errors), "diverged": sum(loss is None for loss in found.losses),
        "losses": found.losses, "values": found.values, "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip


def number(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.1f}"


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| task | policy | method | truth | chosen | default | best in hindsight | median | diverged | choice |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        choice = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in r["chosen"].items())
        cells = [r["task"], r["policy"], r["method"], f"{r['truth']:.1f}", *(
            number(r[f"error_{which}"]) for which in ("chosen", "default", "best", "median")
        ), f"{r['diverged']} of {r['candidates']}", choice]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Mean absolute error as a share of |truth|, and how often the choice beat the default:", ""]
    lines += ["| task | method | chosen | default | best in hindsight | better / same / worse |", "|---" * 6 + "|"]
    for task, method in dict.fromkeys((r["task"], r["method"]) for r in rows):
        own = [r for r in rows if (r["task"], r["method"]) == (task, method)]
        shares = []
        for which in ("chosen", "default", "best"):
            errors = [r[f"error_{which}"] for r in own]
            some = [e / abs(r["truth"]) for e, r in zip(errors, own, strict=True) if e is not None]
            lost = f" ({len(errors) - len(some)} diverged)" if len(some) < len(errors) else ""
            shares.append(f"{np.mean(some):.1%}{lost}" if some else "diverged")
        pairs = [(r["error_chosen"], r["error_default"]) for r in own]
        sizes = [(np.inf if a is None else a, np.inf if b is None else b) for a, b in pairs]
        counts = [sum(a < b for a, b in sizes), sum(a == b for a, b in sizes), sum(a > b for a, b in sizes)]
        lines.append(f"| {task} | {method} | {' | '.join(shares)} | {' / '.join(map(str, counts))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", type=Path, help="folder of the published policies; without it the demo alone")
    parser.add_argument("--out", type=Path, default=Path("tuning-result"))
    parser.add_argument("--number", type=int, action="append", help="which of the published policies")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--log-steps", type=int, default=100_000)
    parser.add_argument("--truth-episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, help="training steps, to try it out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path, began = options.out / "rows.jsonl", time.perf_counter()
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for question in questions(options):
        task, *_, settings = question
        policy = question[2].name
        if options.steps:
            settings.update({part: {**settings.get(part, {}), "steps": options.steps} for part in PARTS})
        for method in options.method or METHODS:
            if any((r["task"], r["policy"], r["method"]) == (task, policy, method) for r in rows):
                continue
            rows.append(ask(question, method))
            with path.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(f"{task} {policy} {method}: {rows[-1]['seconds']} s", file=sys.stderr, flush=True)
    device = jax.devices()[0].device_kind if jax.default_backend() != "cpu" else platform.machine()
    print(table(rows))
    print(f"\n{time.perf_counter() - began:.0f} s, {device}, commit {commit()}, jax {jax.__version__}")


if __name__ == "__main__":
    main()
