"""A first honest table: every method on two logs whose truth is known, whatever it shows.

    python scripts/methods_table.py collect --policies DIR --out FOLDER     a Hopper log and true values (needs MuJoCo)
    python scripts/methods_table.py run TASK --out FOLDER                   every method; TASK: demo, or that FOLDER
    python scripts/methods_table.py write FOLDER… --out docs/results/methods.md

`DIR` holds the published deep_ope policies hopper_online_10.npz (evaluated) and hopper_online_5.npz (which logged).
Both act stochastically, since importance sampling has no answer for deterministic policies. Results are kept as each
method finishes; a run that is repeated does what is missing.
"""

import argparse
import json
import time
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS
from ropeval.provenance import commit
from ropeval.runtime import cores, device, prepare

GAMMA = 0.99
STEPS, TRUTH_EPISODES = 100_000, 200
HOW = """## How it was made

```
python scripts/methods_table.py collect --policies DIR --out hopper      # the published deep_ope policies in DIR
python scripts/methods_table.py run demo   --out benchmarks/results/methods/demo
python scripts/methods_table.py run hopper --out benchmarks/results/methods/hopper
python scripts/methods_table.py write benchmarks/results/methods/demo benchmarks/results/methods/hopper \\
    --out docs/results/methods.md
```

The Hopper log holds whole episodes of hopper_online_5; hopper_online_10 is evaluated. Both act stochastically, since
importance sampling has no answer for deterministic policies. `critic` is refused on both tasks: no policy file here
has an action-value network.

## What to do next

Many more logs and policies: [suite](suite.md). What each method is: [methods](../methods/README.md)."""
# Every estimator, every encoder with fqe, and some pairs that are told apart elsewhere in docs/.
METHODS = [*ESTIMATORS, *(f"{encoder}+fqe" for encoder in ENCODERS),
           "rope+lspe", "rope-range+lspe", "bcrl+lspe", "rope-range+dr"]  # fmt: skip


def collect(policies: Path, out: Path) -> None:
    """Whole episodes of the logging policy, as many as fit, and the true value of the evaluated one."""
    from ropeval.bench.data.policy_files import LocatedPolicy
    from ropeval.bench.data.rollouts import play_log, play_value

    out.mkdir(parents=True, exist_ok=True)
    logging, evaluated = (policies / f"hopper_online_{number}.npz" for number in (5, 10))
    truth = play_value("Hopper-v4", LocatedPolicy(str(evaluated), None), GAMMA, TRUTH_EPISODES, processes=cores())
    log: dict[str, Any] = play_log("Hopper-v4", LocatedPolicy(str(logging), None), STEPS, processes=cores())
    np.savez_compressed(out / "log.npz", **log)
    values = {
        "value": truth.discounted.value,
        "standard_error": truth.discounted.standard_error,
        "mean_reward_over_1mg": truth.mean_reward.value,
        "episodes": truth.episodes,
    }
    about = {"environment": "Hopper-v4", "gamma": GAMMA, "policies": {"hopper_online_10": values}}
    (out / "truth.json").write_text(json.dumps(about, indent=1))
    (out / "policies").mkdir(exist_ok=True)
    (out / "policies" / "hopper_online_10.npz").write_bytes(evaluated.read_bytes())
    print(about)


def run(task: str, out: Path, methods: list[str], members: int) -> None:
    import ropeval

    prepare()
    folder = Path(str(resources.files("ropeval.demo"))) if task == "demo" else Path(task)
    truth = json.loads((folder / "truth.json").read_text())
    dataset = ropeval.load_dataset(folder / "log.npz")
    about = {
        "task": "demo" if task == "demo" else truth["environment"],
        "steps": len(dataset),
        "episodes": dataset.num_episodes,
        "members": members,
        "hardware": device(),
        "commit": commit(),
        "truth": truth["policies"],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "about.json").write_text(json.dumps(about, indent=1))
    done = {(row["policy"], row["method"]) for row in _rows(out)}
    for method in methods:
        for name in truth["policies"]:
            if (name, method) in done:
                continue
            policy = ropeval.load_policy(folder / "policies" / f"{name}.npz")
            began = time.perf_counter()
            try:
                row = ropeval.evaluate(dataset, policy, method, gamma=GAMMA, members=members).to_json()
            except ropeval.UserError as error:
                row = {"policy": name, "method": method, "refused": str(error)}
            row["wall_seconds"] = round(time.perf_counter() - began, 1)
            with (out / "rows.jsonl").open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(name, method, row.get("value"), row["wall_seconds"], flush=True)


def write(folders: list[Path], out: Path) -> None:
    """The table of every folder, errors against both definitions."""
    lines = ["# A first honest table", "", "Every method at its default settings, none tuned, whatever it shows.", ""]
    for folder in folders:
        about = json.loads((folder / "about.json").read_text())
        rows = sorted(_rows(folder), key=lambda r: METHODS.index(r["method"]))
        for name, truth in about["truth"].items():
            lines += [
                f"## {about['task']}: {name}",
                "",
                f"{about['steps']:,} logged steps in {about['episodes']:,} episodes, {about['members']} members. "
                f"True value {truth['value']:.1f} ± {truth['standard_error']:.1f} (discounted return), "
                f"{truth['mean_reward_over_1mg']:.1f} (mean reward/(1−γ), what the paper's code compares with). "
                f"{about['hardware']}, commit {about['commit']}; seconds include compilation.",
                "",
                "| method | estimate | members | error, discounted | error, mean reward/(1−γ) | seconds | warnings |",
                "|---|---|---|---|---|---|---|",
                *(_row(r, truth) for r in rows if r["policy"] == name),
                "",
            ]
    lines += [HOW, ""]
    out.write_text("\n".join(lines))


def _rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / "rows.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _row(row: dict[str, Any], truth: dict[str, float]) -> str:
    if "refused" in row:
        return f"| {row['method']} | refused | – | – | – | {row['wall_seconds']:.0f} | {row['refused']} |"
    warnings = "; ".join(w.split(":")[0].split(";")[0] for w in row["warnings"]).replace("|", "\\|")
    if row["value"] is None:
        return f"| {row['method']} | diverged | – | – | – | {row['wall_seconds']:.0f} | {warnings} |"
    errors = [
        f"{row['value'] - truth[k]:+.1f} ({abs(row['value'] / truth[k] - 1):.0%})"
        for k in ("value", "mean_reward_over_1mg")
    ]
    spread = f"{row['low']:.1f} … {row['high']:.1f}" if len(row["members"]) > 1 else "–"
    cells = [row["method"], f"{row['value']:.1f}", spread, *errors, f"{row['wall_seconds']:.0f}", warnings]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("collect")
    one.add_argument("--policies", type=Path, required=True)
    two = verbs.add_parser("run")
    two.add_argument("task")
    two.add_argument("--methods", nargs="+", default=METHODS)
    two.add_argument("--members", type=int, default=4)
    three = verbs.add_parser("write")
    three.add_argument("folders", type=Path, nargs="+")
    for verb in (one, two, three):
        verb.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.verb == "collect":
        collect(options.policies, options.out)
    elif options.verb == "run":
        run(options.task, options.out, options.methods, options.members)
    else:
        write(options.folders, options.out)


if __name__ == "__main__":
    main()
