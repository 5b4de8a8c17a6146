"""Put two checkpoints of a training into the package: the last as π_e, an earlier and lower one as π_b.

    ropeval bench train Hopper-v4 --out trained
    python scripts/ship_policies.py trained/Hopper-v4 hopper [--early 30000] [--final 100000]

Copies both `.npz` to `src/ropeval/bench/policies` and writes NAME_sac.json beside them: environment, settings,
versions, learning curve, hashes, and what each file as shipped (float16) earns in 300 episodes, both definitions.
Without --early: the latest checkpoint that earned at most 85% of the final one's discounted return.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.parts import Stream
from ropeval.bench.policy_files import LocatedPolicy, sha256_of
from ropeval.bench.train import read_curve
from ropeval.bench.truth import PolicyTruth, policy_truth
from ropeval.bench.workers import Recipe, play_streams
from ropeval.files import read_npz, write_text

EPISODES, GAMMA = 300, 0.99
FOLDER = Path(__file__).parents[1] / "src/ropeval/bench/policies"


def choose(curve: list[dict[str, float]], final: int | None, early: int | None) -> dict[str, dict[str, float]]:
    by_steps = {int(line["steps"]): line for line in curve}
    last = by_steps[final if final is not None else max(by_steps)]
    if early is None:
        before = [steps for steps, line in by_steps.items() if steps < last["steps"]]
        lower = [steps for steps in before if by_steps[steps]["discounted"] <= 0.85 * last["discounted"]]
        early = max(lower) if lower else min(before)
    return {"final": last, "early": by_steps[early]}


def measure(environment: str, path: Path, processes: int) -> PolicyTruth:
    policy = LocatedPolicy(str(path), "stochastic", sha256_of(path))
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream("value", Path(folder), EPISODES, "episodes")
        play_streams([(stream, Recipe(environment, policy, 0, "truth", GAMMA))], processes)
        summaries = np.concatenate([read_npz(part.path)["summaries"][:count] for part, count in stream.kept()])
    return policy_truth(summaries, GAMMA, path.stem, policy.load().sha256)


def ship(trained: Path, name: str, final: int | None, early: int | None, processes: int) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((trained / "training.json").read_text(encoding="utf-8"))
    curve = read_curve(trained / "curve.jsonl")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    about |= {"commit": commit.stdout.strip(), "files": {}}
    for kind, line in choose(curve, final, early).items():
        path = FOLDER / f"{name}_sac_{kind}.npz"
        shutil.copyfile(trained / f"{about['environment']}_sac_{int(line['steps'])}.npz", path)
        truth = measure(about["environment"], path, processes)
        measured = truth.model_dump(exclude={"policy_sha256", "name"})
        about["files"][path.name] = {"steps": int(line["steps"]), "sha256": sha256_of(path), "measured": measured}
    about["curve"] = curve
    write_text(FOLDER / f"{name}_sac.json", json.dumps(about, indent=1) + "\n")
    return about


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="the folder that `ropeval bench train` wrote")
    parser.add_argument("name", help="what the files will be called")
    parser.add_argument("--final", type=int, help="steps of π_e's checkpoint")
    parser.add_argument("--early", type=int, help="steps of π_b's checkpoint")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    about = ship(arguments.trained, arguments.name, arguments.final, arguments.early, arguments.processes)
    for file, entry in about["files"].items():
        value = entry["measured"]["discounted"]
        print(f"{file}: {entry['steps']:,} steps, discounted {value['value']:.4g} ± {value['standard_error']:.2g}")


if __name__ == "__main__":
    main()
