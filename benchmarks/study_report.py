"""How long the report of a whole study takes: 12 tasks × 10 methods × up to 9 settings × 20 seeds, invented numbers.

python benchmarks/study_report.py FOLDER [--seeds 20] [--points 300] [--all-gridded]

writes the study and its report, and prints seconds.

The numbers are drawn from nothing but a generator and mean nothing; they have the shape of real ones: errors that
shrink with training, methods that diverge on some tasks, features that collapse.
"""

import argparse
import itertools
import json
import os
import time
import zlib
from pathlib import Path

import numpy as np
import polars as pl

from ropeval.bench.results.rows import ADDED, CURVES, ROWS

TASKS = [f"d4rl/{e}-{d}" for e in ("halfcheetah", "walker2d", "hopper") for d in ("random", "medium", "medium-expert")]
TASKS += [f"custom/{e}" for e in ("swimmer", "halfcheetah", "humanoidstandup")]
GRID = [{"beta": beta, "dim": dim} for beta in (0.1, 1.0, 10.0) for dim in ("X/3", "X/2", "X")]
GRIDDED = {"rope+fqe": "rope", "rope-range+fqe": "rope-range", "mico+fqe": "mico", "psm+fqe": "psm"}
METHODS = ["fqe", "fqe-clip", "fqe-deep", "bcrl+lspe", "critic+fqe", *GRIDDED, "random-metric+fqe"]


def write_unit(units: Path, task: str, method: str, seeds: int, points: int, gridded: bool) -> None:
    """One task and method: all its settings and seeds."""
    rng = np.random.default_rng(zlib.crc32(f"{task} {method}".encode()))
    encoder, _, estimator = method.rpartition("+")
    trivial = method.startswith("mean-")
    settings = [{f"{encoder or method}.{k}": v for k, v in s.items()} for s in GRID] if gridded else [{}]
    seeds = 1 if trivial else seeds
    members = pl.DataFrame(
        [{"unit": "u", "task": task, "policy": "evaluated", "method": method, "protocol": "paper",
          "hyper": json.dumps(s), "seed": seed}
         for s in settings for seed in range(seeds)]
    )  # fmt: skip
    count, steps = len(members), np.arange(1, points + 1) * 1000
    kind = np.arange(count)[:, None] // seeds  # [M, 1] which setting
    aims = 300 * (1 + 0.4 * np.sin(7 * kind + zlib.crc32(task.encode()) % 10)) * rng.normal(1, 0.08, (count, 1))
    estimate = aims * (1 - np.exp(-steps / 40_000)) + rng.normal(0, 4, (count, points))  # [M, P]
    diverges = method in ("fqe", "fqe-deep") and "hopper" in task
    if diverges:
        estimate = np.exp(np.linspace(2, 14 + rng.normal(size=count), points).T)
    rows = members.with_columns(
        *(pl.lit(value).alias(name) for name, value in SHARED.items()),
        pl.Series("default", kind[:, 0] == min(4, len(settings) - 1)),
        pl.Series("estimate", estimate[:, -1]),
        pl.lit(diverges).alias("diverged"),
    )
    name = f"{task}-{method}".replace("/", "-")
    rows = rows.with_columns(pl.lit(value).alias(name) for name, value in ADDED.items() if name not in rows.columns)
    kept = rows.select(pl.col(column).cast(kind) for column, kind in ROWS.items())
    kept.write_parquet(units / f"{name}.rows.parquet")
    if trivial:
        return
    noise = rng.lognormal(0, 0.1, (count, points))
    curves = {(estimator, "estimate"): estimate, (estimator, "loss"): np.exp(-steps / 1e5) * noise}
    if encoder and encoder != "critic":
        curves[encoder, "loss"] = (0.5 + np.exp(-steps / 5e4)) * noise
        curves[encoder, "feature_mean"] = rng.normal(0, 0.02, (count, points))
        curves[encoder, "feature_std"] = 0.6 * np.exp(-steps / 6e4) * noise
        curves[encoder, "feature_size"] = 1 - 0.5 * np.exp(-steps / 6e4) * noise
    kinds = pl.DataFrame(list(curves), schema=["stage", "metric"], orient="row")
    long = kinds.join(members, how="cross").join(pl.DataFrame({"step": steps}), how="cross")
    long = long.with_columns(pl.Series("value", np.stack(list(curves.values())).ravel()))
    kept = long.select(pl.col(column).cast(kind) for column, kind in CURVES.items())
    kept.write_parquet(units / f"{name}.curves.parquet")


TRUTH = {"truth_discounted": 300.0, "random_discounted": 10.0, "truth_mean_reward": 450.0, "random_mean_reward": 40.0}
SHARED = TRUTH | {f"{name}_se": 2.0 for name in TRUTH} | {
    "study": "invented", "gamma": 0.99, "config": "{}", "diverged_at": -1, "data_sha256": "0", "policy_sha256": "0",
    "version": "0", "commit": "0000000", "device": "no device: invented numbers", "seconds": 0.0, "warnings": "[]",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--all-gridded", action="store_true", help="nine settings of every method, 21,624 runs in all")
    args = parser.parse_args()
    units = args.folder / "units"
    if not units.is_dir():
        units.mkdir(parents=True)
        about = {"name": "invented", "tasks": TASKS, "methods": METHODS, "seeds": args.seeds, "protocol": "paper"}
        (args.folder / "study.json").write_text(json.dumps(about), encoding="utf-8")
        for task, method in itertools.product(TASKS, ["mean-reward", "mean-return", *METHODS]):
            if args.all_gridded or method != "critic+fqe" or task.startswith("custom/"):
                gridded = method in GRIDDED or (args.all_gridded and not method.startswith("mean-"))
                write_unit(units, task, method, args.seeds, args.points, gridded)
    from ropeval.bench.results.report import write_report

    began = time.monotonic()
    written = write_report(args.folder, args.folder / "report", overwrite=True, processes=os.cpu_count() or 1)
    print(f"{len(written)} files in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
