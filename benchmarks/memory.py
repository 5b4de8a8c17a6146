"""How much memory `ropeval evaluate` takes as the log grows, and how long its steps take.

    python -m benchmarks.memory                            0.1M to 20M transitions
    python -m benchmarks.memory --sizes 0.1 1 --steps 200  millions of transitions; training steps per size
    python -m benchmarks.memory --full 20                  one size with the default settings of every method

Each size is a made-up log as large as Walker2d's (17 observations, 6 actions, episodes of 1000 steps), written part by
part in ropeval's own form, and judged by the typed command in a process of its own, with the default methods. Peak
memory is the largest resident set of that process, mapped files included. The logs are removed afterwards. A size that
is measured again replaces its row in the table; the others stay.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.resident import Watch

from ropeval.provenance import commit
from ropeval.runtime import processor

HERE = Path(__file__).resolve().parent
OBSERVATIONS, ACTIONS, LENGTH = 17, 6, 1000
SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0)  # millions
PART = 500  # episodes written at a time
METHODS = ("mean-reward", "mean-return", "fqe", "rope+fqe")


def make_log(folder: Path, episodes: int) -> None:
    """A stable linear system under a noisy linear policy; part by part, so that size costs no memory here either."""
    from ropeval.data import ColumnsWriter, Dataset

    rng = np.random.default_rng(0)
    F = 0.95 * np.linalg.qr(rng.standard_normal((OBSERVATIONS, OBSERVATIONS)))[0].astype(np.float32)
    G = 0.3 * rng.standard_normal((ACTIONS, OBSERVATIONS), np.float32)
    K = 0.2 * rng.standard_normal((OBSERVATIONS, ACTIONS), np.float32)
    with ColumnsWriter(folder, {"made by": "benchmarks/memory.py"}) as writer:
        for start in range(0, episodes, PART):
            count = min(PART, episodes - start)
            states = np.empty((LENGTH + 1, count, OBSERVATIONS), np.float32)
            actions = np.empty((LENGTH, count, ACTIONS), np.float32)
            states[0] = rng.standard_normal((count, OBSERVATIONS), np.float32)
            for t in range(LENGTH):
                actions[t] = np.tanh(states[t] @ K + 0.3 * rng.standard_normal((count, ACTIONS), np.float32))
                noise = 0.1 * rng.standard_normal((count, OBSERVATIONS), np.float32)
                states[t + 1] = states[t] @ F + actions[t] @ G + noise
            rewards = 1.0 + states[:-1, :, 0] - 0.1 * (actions**2).sum(-1)
            last = np.arange(LENGTH)[:, None] == LENGTH - 1

            def flat(a: Any, count: int = count) -> Any:
                return np.ascontiguousarray(
                    np.moveaxis(np.broadcast_to(a, (LENGTH, count, *a.shape[2:])), 1, 0)
                ).reshape(LENGTH * count, *a.shape[2:])

            columns = {
                "observations": flat(states[:-1]),
                "next_observations": flat(states[1:]),
                "actions": flat(actions),
                "rewards": flat(rewards),
                "terminations": np.zeros(LENGTH * count, bool),
                "truncations": flat(last),
            }
            writer.append(Dataset.from_columns(columns, name="made up"))


def make_policy(path: Path) -> None:
    """A tanh-Gaussian network as large as the published Walker2d policies; evaluated at its mean: deterministic."""
    rng = np.random.default_rng(1)

    def layer(outputs: int, inputs: int) -> Any:
        return (rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32)

    shapes = {"fc0": (256, OBSERVATIONS), "fc1": (256, 256), "mean": (ACTIONS, 256), "logstd": (ACTIONS, 256)}
    weights = {f"{name}_w": layer(*shape) for name, shape in shapes.items()}
    biases: dict[str, Any] = {f"{name}_b": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}
    np.savez(path, **weights, **biases, mode=np.array("mean"))


def measure(millions: float, steps: int | None, members: int, scratch: Path) -> dict[str, Any]:
    log, policy, out = scratch / "log", scratch / "policy.npz", scratch / "out"
    make_policy(policy)
    began = time.perf_counter()
    make_log(log, round(millions * 1e6 / LENGTH))
    writing = time.perf_counter() - began
    size = sum(f.stat().st_size for f in log.iterdir())
    command = [sys.executable, "-m", "ropeval", "evaluate", str(log), str(policy), "--members", str(members)]
    command += ["--out", str(out), "--json"] + ([] if steps is None else ["--steps", str(steps)])
    for method in METHODS:
        command += ["--method", method]
    began = time.perf_counter()
    environment = {**os.environ, "TMPDIR": str(scratch)}  # where the drawn actions go
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        watch = Watch(process.pid)
        answer = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    wall = time.perf_counter() - began
    results = {row["method"]: row for row in json.loads(answer)}
    shutil.rmtree(log)
    shutil.rmtree(out)
    row = {
        "transitions": round(millions * 1e6),
        "log_gb": size / 1e9,
        "peak_rss_gb": watch.peak()["peak_gb"],
        "wall_seconds": wall,
        "writing_seconds": writing,
        "members": members,
        "steps": steps or "default",
        "seconds": {method: results[method]["seconds"] for method in METHODS},
        "values": {method: results[method]["value"] for method in METHODS},
        "about": about(),
    }
    print(json.dumps(row), flush=True)
    return row


def about() -> dict[str, str]:
    """What a row was measured with: rows of several runs stand in one table."""
    import jax

    return {
        "command": " ".join(["python -m benchmarks.memory", *sys.argv[1:]]),
        "device": f"{os.cpu_count()} cores of {processor()}",
        "jax": jax.__version__,
        "commit": commit(),
    }


def write_report(new: list[dict[str, Any]], target: Path) -> None:
    """Add rows to the table, in place of earlier ones of the same size and number of steps."""
    kept = json.loads(target.with_suffix(".json").read_text())["rows"] if target.with_suffix(".json").exists() else []
    by_case = {(row["transitions"], str(row["steps"])): row for row in kept + new}
    rows = [by_case[case] for case in sorted(by_case)]
    data = (
        f"made up: {OBSERVATIONS} observations, {ACTIONS} actions, episodes of {LENGTH} steps; a deterministic policy"
    )
    target.with_suffix(".json").write_text(json.dumps({"data": data, "rows": rows}, indent=1) + "\n")
    lines = ["# Memory against the size of the log", "", f"- data: {data}"]
    lines += [
        f"- {k}: {' / '.join(dict.fromkeys(row['about'][k] for row in rows))}" for k in ("command", "device", "jax")
    ]
    lines += ["- the machine was shared with other work, so the seconds are upper bounds; memory is not affected", ""]
    lines += [
        "| transitions | log, GB | peak resident memory, GB | fqe, s | rope+fqe, s | command, s | steps | commit |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['transitions']:,} | {row['log_gb']:.2f} | {row['peak_rss_gb']:.2f} | {row['seconds']['fqe']:.0f} "
            f"| {row['seconds']['rope+fqe']:.0f} | {row['wall_seconds']:.0f} | {row['steps']} "
            f"| {row['about']['commit']} |"
        )
    target.with_suffix(".md").write_text("\n".join(lines) + "\n")
    draw(rows, target.with_suffix(".png"))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    short = [row for row in rows if row["steps"] != "default"]
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    sizes = [row["transitions"] / 1e6 for row in short]
    axes.plot(sizes, [row["peak_rss_gb"] for row in short], "o-", label="peak resident memory")
    axes.plot(sizes, [row["log_gb"] for row in short], "s--", color="0.6", label="the log itself")
    axes.axhline(8, color="C3", linewidth=0.8, linestyle=":", label="8 GB")
    axes.set(xscale="log", xlabel="transitions, millions", ylabel="GB", ylim=(0, None))
    axes.set_title("ropeval evaluate, default methods, two CPU cores", fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES, help="millions of transitions")
    parser.add_argument("--full", type=float, nargs="*", default=[], help="sizes with all default steps")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--save", type=Path, default=HERE / "results" / "memory")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as scratch:
        rows = [measure(size, chosen.steps, chosen.members, Path(scratch)) for size in chosen.sizes]
        rows += [measure(size, None, chosen.members, Path(scratch)) for size in chosen.full]
    write_report(rows, chosen.save)


if __name__ == "__main__":
    main()
