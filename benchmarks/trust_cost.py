"""What intervals, diagnosis and ranking cost on top of the training that they come with.

    python benchmarks/trust_cost.py [--members 10] [--steps 2000] [--repeats 3]

The same members are trained twice on the demo's log, with two policies: once on the log as it is with nothing asked
about it, once on resamples with interval, diagnosis, coverage and ranking. Programs are compiled before the clock
starts, and the two take turns, so that what else the machine does falls on both. The process's CPU seconds are what
counts; the wall clock stands beside them.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ropeval.data import Problem, load_dataset, make_problem
from ropeval.evaluation import coverage
from ropeval.evaluation.diagnosis.diagnose import compare_methods
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import Method, make_method
from ropeval.evaluation.options import Options
from ropeval.evaluation.rank import rank
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import load_policy
from ropeval.provenance import commit

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 0.25


def plain(problems: list[Problem], method: Method, members: int) -> None:
    """Training and the mean over initial states, and nothing else."""
    for problem in problems:
        fit(problem, method, Run(member_keys(0, members)))


def trusted(problems: list[Problem], method: Method, members: int) -> None:
    """As `ropeval evaluate` does it."""
    results = [answer(p, method, Options(members=members), covered=coverage.measure(p)) for p in problems]
    results = compare_methods(results, set())
    rank(results, problems[0].dataset.num_episodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--steps", type=int, default=2_000, help="a seventh of the default: harder on what is added")
    parser.add_argument("--method", action="append", choices=("fqe", "rope+fqe"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    demo = ROOT / "src/ropeval/demo"
    log = load_dataset(demo / "log.npz")
    problems = [make_problem(log, load_policy(demo / f"policies/{n}.npz"), 0.99) for n in ("swingup", "lazy")]
    rows = []
    for name in options.method or ("fqe", "rope+fqe"):
        method = make_method(name, {part: {"steps": options.steps} for part in ("fqe", "rope")})
        short = make_method(name, {part: {"steps": options.steps // 50 * 2} for part in ("fqe", "rope")})
        for work in (plain, trusted):
            work(problems[:1], short if options.steps >= 500 else method, options.members)  # compiles
        seconds: dict[Any, list[tuple[float, float]]] = {work: [] for work in (plain, trusted)}
        for _ in range(options.repeats):
            for work in (plain, trusted):
                cpu, wall = time.process_time(), time.perf_counter()
                work(problems, method, options.members)
                seconds[work].append((time.process_time() - cpu, time.perf_counter() - wall))
        base, full = (np.median(seconds[work], axis=0) for work in (plain, trusted))
        extra = (full / base - 1.0).tolist()
        rows.append({"method": name, "plain": base.tolist(), "trusted": full.tolist(), "extra": extra})
        print(json.dumps(rows[-1]), flush=True)
    lines = [
        "| method | training alone, CPU s | with all that, CPU s | extra, CPU | extra, wall | limit |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['method']} | {r['plain'][0]:.1f} | {r['trusted'][0]:.1f} | **{r['extra'][0]:+.1%}** | "
        f"{r['extra'][1]:+.1%} | {LIMIT:+.0%} |"
        for r in rows
    ]
    device = jax.devices()[0].device_kind if jax.default_backend() != "cpu" else platform.processor() or "CPU"
    lines += ["", f"{options.members} members, {options.steps} steps, median of {options.repeats}; {device}, "
              f"commit {commit()}, jax {jax.__version__}"]  # fmt: skip
    print("\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
