"""Results made up by hand, with every field filled: pages are drawn from them without any training."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars

from ropeval.evaluation.result import Coverage, Estimate, Finding, Interval, Ranking
from ropeval.evaluation.result_folder import results_json

METHODS = ("mean-reward", "fqe", "rope+fqe")
VALUES = {"mean-reward": (5.0, 5.0), "fqe": (10.0, 2.0), "rope+fqe": (8.0, 6.0)}
STEPS = (0, 50, 100)


def estimate(policy: str, method: str, value: float | None, findings: tuple[Finding, ...] = ()) -> Estimate:
    learned = method != "mean-reward"
    members = [None if value is None else value - 0.5, None if value is None else value + 0.5] if learned else [value]
    stages = {"fqe": ("fqe",), "rope+fqe": ("rope", "fqe")}.get(method, ())
    metrics = {"rope": ("loss", "feature_std", "feature_size"), "fqe": ("loss", "estimate")}
    curves = [
        {"stage": stage, "member": m, "step": step, "metric": metric, "value": (value or 1e9) * step / 100 + 0.1 + m}
        for stage in stages for metric in metrics[stage] for step in STEPS for m in range(2)
    ]  # fmt: skip
    return Estimate(
        policy=policy,
        policy_kind="deterministic",
        method=method,
        value=value,
        lowest=None if value is None else min(members),
        highest=None if value is None else max(members),
        members=members,
        diverged=[0, 1] if value is None else [],
        warnings=[f.sentence for f in findings],
        config={"gamma": 0.9, "fqe": {"steps": 100}},
        data_sha256="ab" * 32,
        version="0",
        seconds=1.5,
        curves=curves,
        interval=Interval(value - 1, value + 2, 0.95, "bca", 200, 40) if value is not None and learned else None,
        diagnosis=list(findings),
    )


def estimates(policies: tuple[str, ...] = ("left", "right")) -> list[Estimate]:
    """fqe puts the first before the second and nothing speaks against it; rope+fqe has two findings."""
    spoken = (
        Finding("collapse", "severe", "the representation collapsed", "compare with mean-reward", {"std": 0.001}),
        Finding("unsettled", "warning", "training had not settled", "use more --steps"),
    )
    return [
        estimate(policy, method, VALUES[method][i % 2] - i // 2, spoken if method == "rope+fqe" else ())
        for i, policy in enumerate(policies)
        for method in METHODS
    ]


def simulated(policy: str, value: float = 3.0, below: float | None = -2.0) -> Estimate:
    """By `world`, with all that rollouts tell."""
    risk = {
        "level": 0.05, "quantile": -1.5, "cvar": -2.5, "mean": value, "quantiles": {"0.05": -1.5, "0.5": 3.0},
        "below": None if below is None else {"threshold": below, "probability": 0.031},
    }  # fmt: skip
    path = {key: [0.0, 0.5, 1.0] for key in ("mean", "low", "high")}
    logged = {f"log_{key}": [0.0, 0.1, None] for key in ("mean", "low", "high")}
    replays = [
        {"steps": steps, "episodes": 64, "logged": 1.0 * steps, "predicted": 1.1 * steps, "logged_std": 0.5,
         "error": 0.2, "held_out": True, "open_loop": True}
        for steps in (1, 10)
    ]  # fmt: skip
    extras = {
        "support": 0.93, "fallback": 0.02, "stochastic": False, "noisy_rewards": False, "risk": risk,
        "returns": {"shares": [0.05, 0.5, 0.95], "values": [-1.5, 3.0, 7.0]},
        "survival": {"steps": [0, 5, 20], "share": [1.0, 0.4, 0.0], "log": [1.0, 0.5, None]},
        "by_start": {"column": "age", "explained": 0.8, "states": 3, "rollouts": 4.0, "at": [1.0, 2.0, 3.0],
                     "values": [2.0, 3.0, 4.0]},
        "paths": {"steps": [0, 5, 20], "columns": [{"name": "dose", **path, **logged}]},
        "replays": replays,
    }  # fmt: skip
    return replace(estimate(policy, "world", value), extras=extras)


def trust(policies: tuple[str, ...] = ("left", "right")) -> dict[str, list[dict[str, object]]]:
    count = len(policies)
    beats = np.full((count, count), 0.25) + np.triu(np.full((count, count), 0.5), 1)
    np.fill_diagonal(beats, 0.5)
    ranking = Ranking(
        "fqe", list(policies), [10.0 - i for i in range(count)], [0.97] + [0.03 / max(1, count - 1)] * (count - 1),
        beats.tolist(), 200, {"spearman": 1.0},
    )  # fmt: skip
    rng = np.random.default_rng(0)
    covered = [
        Coverage(
            policy, [0.05, 0.5, 0.95], [0.1, 0.2, 0.4], [0.1 + i, 0.3 + i, 0.9 + i], 0.25, 0.95,
            rng.standard_normal((30, 2)).tolist(), (rng.standard_normal((30, 2)) + i).tolist(), [0.6, 0.3],
        )
        for i, policy in enumerate(policies)
    ]  # fmt: skip
    return {"ranking": [asdict(ranking)], "coverage": [asdict(c) for c in covered]}


def folder(path: Path, policies: tuple[str, ...] = ("left", "right")) -> Path:
    """What `ropeval evaluate` leaves behind."""
    path.mkdir(parents=True, exist_ok=True)
    results = estimates(policies)
    (path / "result.json").write_text(results_json(results), encoding="utf-8")
    curves = [{"policy": r.policy, "method": r.method, **row} for r in results for row in r.curves]
    polars.DataFrame(curves).write_parquet(path / "curves.parquet")
    about = {
        "version": "0", "log": f"{policies[0]}.npz", "gamma": 0.9, "members": 2, "seed": 3,
        "policies": [{"name": p, "kind": "deterministic", "sha256": "cd" * 32} for p in policies],
    }  # fmt: skip
    (path / "run.json").write_text(json.dumps(about), encoding="utf-8")
    (path / "trust.json").write_text(json.dumps(trust(policies)), encoding="utf-8")
    return path
