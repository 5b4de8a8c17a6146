"""Rank the seven published policies of Hopper, Walker2d and HalfCheetah from logs that one of them wrote.

    python benchmarks/ranking.py --policies DIR --out ranking-result
    python benchmarks/ranking.py --policies DIR --out ranking-result --summarise

For every task: 100,000 steps by policy 5 with its own noise, one true value per policy from rollouts that no method
sees, then what `ropeval evaluate --truth` does. What is finished is kept: an interrupted run goes on. Needs
gymnasium[mujoco]; processes play side by side.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.rollouts import play_log, play_value
from ropeval.files import write_atomically
from ropeval.provenance import commit

TASKS = {"hopper": "Hopper-v4", "walker": "Walker2d-v4", "halfcheetah": "HalfCheetah-v4"}
NUMBERS = (0, 2, 4, 5, 6, 8, 10)
BEHAVIOUR = 5
GAMMA = 0.99
TRUTH_STEPS = 800  # 0.99^800 < 4e-4
METHODS = ("mean-return", "lspe", "fqe", "fqe-ln", "rope-range+fqe")


def prepare(task: str, folder: Path, policies: Path, steps: int, episodes: int) -> dict[str, Any]:
    """DIR/log.npz, whole episodes of the behaviour, as many as fit into the steps, and DIR/truth.json: made once."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{task}_online_{number}" for number in NUMBERS]
    located = {name: LocatedPolicy(str(policies / f"{name}.npz"), None) for name in names}
    how: dict[str, Any] = {"name": "ranking", "processes": os.cpu_count() or 1}
    if not (folder / "log.npz").exists():
        columns = play_log(TASKS[task], located[f"{task}_online_{BEHAVIOUR}"], steps, seed=1, **how)
        columns.pop("log_probs", None)  # the methods have to do without
        write_atomically(folder / "log.npz", lambda path: np.savez(path, allow_pickle=False, **columns))
    if not (folder / "measured.json").exists():
        measured = {}
        for name, policy in located.items():
            found = play_value(TASKS[task], policy, GAMMA, episodes, seed=2, max_steps=TRUTH_STEPS, **how).discounted
            measured[name] = {"value": found.value, "error": found.standard_error}
        (folder / "truth.json").write_text(json.dumps({name: m["value"] for name, m in measured.items()}))
        (folder / "measured.json").write_text(json.dumps(measured, indent=1))
    return json.loads((folder / "measured.json").read_text())


def evaluate(task: str, folder: Path, policies: Path, members: int, steps: int | None, methods: list[str]) -> None:
    """What `ropeval evaluate --truth` does."""
    from ropeval.data import load_dataset
    from ropeval.evaluation.options import Options
    from ropeval.evaluation.result_folder import ResultFolder
    from ropeval.evaluation.session import Session, rankings, run_session
    from ropeval.policies import load_policy
    from ropeval.runtime import prepare as keep_compiled

    keep_compiled()
    session = Session(
        load_dataset(folder / "log.npz"),
        [load_policy(policies / f"{task}_online_{n}.npz") for n in NUMBERS],
        Options(method=tuple(methods), gamma=GAMMA, members=members, steps=steps, draws=2),
    )

    def report(number: int, stage: str, fraction: float) -> None:
        if stage == "done":
            policy, method = session.questions[number]
            print(f"{time.strftime('%H:%M:%S')} {policy.name} {method.name}", file=sys.stderr, flush=True)

    result, truth = ResultFolder(folder / "result"), json.loads((folder / "truth.json").read_text())
    with result.writing(session.about(), resume=True):
        found = run_session(session, result, report)
        if not result.answered:
            result.write(found, rankings(session, found, result, truth), None)
        result.finish()


def table(folders: dict[str, Path]) -> str:
    lines = [
        "| task | method | spearman | regret@1 | regret@3 | absolute error | best by estimate, P(best) | true best |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, folder in folders.items():
        truth = json.loads((folder / "truth.json").read_text())
        best = max(truth, key=truth.__getitem__)
        for r in json.loads((folder / "result/trust.json").read_text())["ranking"]:
            s = r["truth"]
            cells = [
                task, r["method"], f"{s.get('spearman', float('nan')):.2f}",
                f"{s['regret@1']:.1f} ({s['normalised_regret@1']:.0%})",
                f"{s['regret@3']:.1f} ({s['normalised_regret@3']:.0%})", f"{s['absolute_error']:.1f}",
                f"{r['policies'][0]}, {r['best'][0]:.0%}", best,
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def values_table(task: str, folder: Path) -> str:
    rows = json.loads((folder / "result/result.json").read_text())
    measured = json.loads((folder / "measured.json").read_text())
    methods = list(dict.fromkeys(r["method"] for r in rows))
    lines = [f"| {task} | true value | {' | '.join(methods)} |", "|---" * (len(methods) + 2) + "|"]
    for name, true in measured.items():
        cells = []
        for method in methods:
            (r,) = [r for r in rows if r["policy"] == name and r["method"] == method]
            i = r["interval"]
            held = i and i["low"] <= true["value"] <= i["high"]
            shown = "diverged" if r["value"] is None else f"{r['value']:.0f}"
            cells.append(shown + (f" ({i['low']:.0f} … {i['high']:.0f}){' ✓' if held else ''}" if i else ""))
        lines.append(f"| {name} | {true['value']:.1f} ± {true['error']:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", type=Path, required=True, help="folder of the published policies")
    parser.add_argument("--out", type=Path, default=Path("ranking-result"))
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--log-steps", type=int, default=100_000)
    parser.add_argument("--truth-episodes", type=int, default=50)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--steps", type=int, help="training steps, to try it out")
    parser.add_argument("--method", action="append")
    parser.add_argument("--summarise", action="store_true", help="run nothing, read what is there")
    options = parser.parse_args()
    began = time.perf_counter()
    folders = {task: options.out / task for task in options.task or TASKS}
    for task, folder in folders.items():
        if options.summarise:
            continue
        prepare(task, folder, options.policies, options.log_steps, options.truth_episodes)
        print(f"{task}: log and truth after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        evaluate(task, folder, options.policies, options.members, options.steps, options.method or list(METHODS))
        print(f"{task}: done after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    done = {task: folder for task, folder in folders.items() if (folder / "result/trust.json").exists()}
    report = "\n\n".join([table(done), *(values_table(task, folder) for task, folder in done.items())])
    print(report)
    print(f"\n{time.perf_counter() - began:.0f} s, {platform.machine()}, commit {commit()}")


if __name__ == "__main__":
    main()
