"""Study folders with known numbers, as the runner would have left them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ropeval.bench.results.rows import CURVES, ROWS

TRUTH = {
    "truth_discounted": 100.0, "truth_discounted_se": 1.0, "random_discounted": 0.0, "random_discounted_se": 0.5,
    "truth_mean_reward": 150.0, "truth_mean_reward_se": 1.5, "random_mean_reward": 50.0, "random_mean_reward_se": 1.0,
}  # fmt: skip


def row(task: str, method: str, estimate: float | None, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """One member; with TRUTH, an estimate e has RMAE |e−100|/100 (discounted) and |e−150|/100 (mean reward)."""
    made = {
        "study": "made", "unit": f"{task}-{method}".replace("/", "-"), "task": task, "policy": "evaluated", "split": "",
        "method": method,
        "protocol": "standard", "hyper": "{}", "default": True, "seed": seed, "gamma": 0.99, "config": "{}",
        "estimate": estimate, "low": None, "high": None,
        "diverged": estimate is None, "diverged_at": 7 if estimate is None else -1, **TRUTH,
        "data_sha256": f"log of {task}", "policy_sha256": "policy", "version": "0.1", "commit": "abc1234",
        "device": "made up", "seconds": 1.0, "seconds_prepare": 0.0, "warnings": "[]", "extras": "{}",
    }  # fmt: skip
    return made | changes


def runs(task: str, method: str, estimates: Iterable[float | None], **changes: Any) -> list[dict[str, Any]]:
    return [row(task, method, estimate, seed, **changes) for seed, estimate in enumerate(estimates)]


def hyper(**values: Any) -> str:
    """rope__beta=1.0 -> {"rope.beta": 1.0}, canonical."""
    return json.dumps({name.replace("__", "."): value for name, value in values.items()}, sort_keys=True)


def curve(source: Mapping[str, Any], stage: str, metric: str, points: Mapping[int, float]) -> list[dict[str, Any]]:
    shared = {name: source[name] for name in ("unit", "task", "policy", "method", "protocol", "hyper", "seed")}
    return [shared | {"stage": stage, "step": s, "metric": metric, "value": v} for s, v in points.items()]


def write_study(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    curves: Sequence[Mapping[str, Any]] = (),
    failures: Mapping[str, Mapping[str, Any]] | None = None,
    **study: Any,
) -> Path:
    """One file of rows for each (task, method), one of all curves."""
    units = folder / "units"
    units.mkdir(parents=True, exist_ok=True)
    about = {
        "name": "made", "tasks": list(dict.fromkeys(r["task"] for r in rows)),
        "methods": list(dict.fromkeys(r["method"] for r in rows)),
        "seeds": 1 + max((r["seed"] for r in rows), default=0), "protocol": "standard", "gamma": 0.99,
    }  # fmt: skip
    (folder / "study.json").write_text(json.dumps(about | study), encoding="utf-8")
    for number, key in enumerate(dict.fromkeys((r["task"], r["method"], r["protocol"]) for r in rows)):
        own = [r for r in rows if (r["task"], r["method"], r["protocol"]) == key]
        pl.DataFrame(own, schema=ROWS).write_parquet(units / f"unit{number}.rows.parquet")
    if curves:
        pl.DataFrame(list(curves), schema=CURVES).write_parquet(units / "unit0.curves.parquet")
    for unit, content in (failures or {}).items():
        (units / f"{unit}.failed.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def small_study(folder: Path, **study: Any) -> Path:
    """Two tasks, the baselines, fqe without a grid, and rope+fqe on a grid of 2 × 2, with curves."""
    rows, curves = [], []
    for task in ("made/one", "made/two"):
        rows += runs(task, "mean-reward", [90.0]) + runs(task, "mean-return", [60.0])
        rows += runs(task, "fqe", [101.0, 102.0, 103.0, 104.0])
        for beta in (0.1, 1.0):
            for place, dim in enumerate(("X/3", "X")):
                setting = hyper(rope__beta=beta, rope__dim=dim)
                estimates = [100 + 10 * beta + 20 * place + seed for seed in range(4)]
                rows += runs(task, "rope+fqe", estimates, hyper=setting, default=beta == 1.0 and dim == "X")
    for one in rows:
        if one["method"] in ("mean-reward", "mean-return"):
            continue
        curves += curve(one, "fqe", "estimate", {10: 0.0, 20: one["estimate"] / 2, 30: one["estimate"]})
        curves += curve(one, "fqe", "loss", {10: 3.0, 20: 2.0, 30: 1.0})
        if one["method"] == "rope+fqe":
            metrics = {"loss": 0.5, "feature_mean": 0.1, "feature_std": 0.4, "feature_size": 0.7, "feature_codes": 40.0}
            for metric, value in metrics.items():
                curves += curve(one, "rope", metric, {10: value, 20: value / 2, 30: value / 4})
    return write_study(folder, rows, curves, **study)


def write_published(folder: Path) -> Path:
    """Two trivial estimates and two runs of fqe, with their curves."""
    rows = runs("t", "mean-reward", [90.0]) + runs("t", "mean-return", [60.0]) + runs("t", "fqe", [110.0, 111.0])
    curves = [point for one in rows[2:] for point in curve(one, "fqe", "estimate", {1: 0.0, 2: one["estimate"]})]
    return write_study(folder / "published", rows, curves)


def write_mine(folder: Path, *more: Any, **changes: Any) -> Path:
    """One new method, and one run that is published, too, on another log."""
    rows = [*runs("t", "new", [105.0, 106.0], **changes), row("t", "fqe", 200.0, **changes), *more]
    curves = [point for one in rows[:3] for point in curve(one, one["method"], "estimate", {1: 5.0, 2: 7.0})]
    return write_study(folder / "mine", rows, curves, name="mine")
