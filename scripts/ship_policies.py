"""Put a checkpoint of a training into the package.

    ropeval bench train Hopper-v4 --out trained
    python scripts/ship_policies.py hopper_sac_final trained/Hopper-v4 100000
    python scripts/ship_policies.py hopper_sac_early trained/Hopper-v4 30000

Copies the `.npz` to `src/ropeval/bench/data/policies` and writes a JSON beside it: environment, settings, versions,
learning curve, hash, and what the file as shipped (float16) earns under both definitions. The tasks that use a policy
need a new version when it changes.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.data.policy_files import LocatedPolicy, sha256_of
from ropeval.bench.data.streams import Stream
from ropeval.bench.data.train import GAMMA, read_curve
from ropeval.bench.data.truth import PolicyTruth, policy_truth
from ropeval.bench.data.workers import Recipe, play_streams
from ropeval.files import read_npz, write_text

FOLDER = Path(__file__).parents[1] / "src/ropeval/bench/data/policies"


def measure(environment: str, path: Path, episodes: int, processes: int) -> PolicyTruth:
    policy = LocatedPolicy(str(path), "stochastic", sha256_of(path))
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream("value", Path(folder), episodes, "episodes")
        play_streams([(stream, Recipe(environment, policy, 0, "truth", GAMMA))], processes)
        summaries = np.concatenate([read_npz(part.path)["summaries"][:count] for part, count in stream.kept()])
    return policy_truth(summaries, GAMMA, path.stem, policy.load().sha256)


def ship(name: str, trained: Path, steps: int, episodes: int, processes: int) -> PolicyTruth:
    training: dict[str, Any] = json.loads((trained / "training.json").read_text(encoding="utf-8"))
    environment = training["environment"]
    path = FOLDER / f"{name}.npz"
    shutil.copyfile(trained / f"{environment}_sac_{steps}.npz", path)
    truth = measure(environment, path, episodes, processes)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    about = {
        "environment": environment,
        "steps": steps,
        "sha256": sha256_of(path),
        "commit": commit.stdout.strip(),
        "measured": truth.model_dump(exclude={"policy_sha256", "name"}),
        "training": training,
        "curve": read_curve(trained / "curve.jsonl"),
    }
    write_text(path.with_suffix(".json"), json.dumps(about, indent=1) + "\n")
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="what the file will be called, without its ending")
    parser.add_argument("trained", type=Path, help="the folder that `ropeval bench train` wrote")
    parser.add_argument("steps", type=int, help="which checkpoint")
    parser.add_argument("--episodes", type=int, default=300, help="played to measure it")
    parser.add_argument("--processes", type=int, default=2)
    truth = ship(**vars(parser.parse_args()))
    for value in (truth.discounted, truth.mean_reward):
        print(f"{value.value:.5g} ± {value.standard_error:.2g}", end="   ")
    print(f"{truth.episodes} episodes of {truth.mean_length:.0f} steps")


if __name__ == "__main__":
    main()
