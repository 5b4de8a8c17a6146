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
from pathlib import Path
from typing import Any

from ropeval.bench.data.policy_files import LocatedPolicy, sha256_of
from ropeval.bench.data.rollouts import play_value
from ropeval.bench.data.train import GAMMA, read_curve
from ropeval.bench.data.truth import PolicyTruth
from ropeval.files import write_text
from ropeval.provenance import commit

FOLDER = Path(__file__).parents[1] / "src/ropeval/bench/data/policies"


def ship(name: str, trained: Path, steps: int, episodes: int, processes: int) -> PolicyTruth:
    training: dict[str, Any] = json.loads((trained / "training.json").read_text(encoding="utf-8"))
    environment = training["environment"]
    path = FOLDER / f"{name}.npz"
    shutil.copyfile(trained / f"{environment}_sac_{steps}.npz", path)
    policy = LocatedPolicy(str(path), "stochastic", sha256_of(path))
    truth = play_value(environment, policy, GAMMA, episodes, processes=processes)
    about = {
        "environment": environment,
        "steps": steps,
        "sha256": sha256_of(path),
        "commit": commit(),
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
