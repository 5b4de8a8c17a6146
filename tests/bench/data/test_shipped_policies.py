"""The policies in the package: whole, small, as described, and enough to run their tasks."""

import json
from pathlib import Path

import numpy as np
import pytest

import ropeval.bench.data
from ropeval.bench.data.policy_files import locate, sha256_of
from ropeval.bench.data.tasks import find_task

FOLDER = Path(ropeval.bench.data.__file__).parent / "policies"
FILES = sorted(FOLDER.glob("*.npz"))
SIZES = {"Hopper-v4": (11, 3), "HumanoidStandup-v4": (376, 17)}


def test_they_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 10e6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_described(path):
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert about["sha256"] == sha256_of(path)
    assert about["steps"] in [line["steps"] for line in about["curve"]]
    assert about["measured"]["discounted"]["standard_error"] > 0
    assert about["training"]["runs"][0]["versions"]["stable-baselines3"]
    with np.load(path) as arrays:
        assert {arrays[name].dtype for name in arrays if "/" in name} == {np.dtype(np.float16)}


@pytest.mark.parametrize("name", ["sac/hopper", "custom/humanoidstandup"])
def test_their_tasks_need_no_download(name):
    task = find_task(name)
    better, lower = (locate(task, role, None) for role in ("evaluated", "behaviour"))
    for located in (better, lower):
        policy = located.load()
        assert (policy.observation_size, policy.action_size) == SIZES[task.environment]
        assert policy.has_features  # the critic, for `critic+fqe`
        limit = 0.4 if "Humanoid" in task.environment else 1.0
        actions = policy.sample(
            np.random.default_rng(0).standard_normal((50, policy.observation_size)) * 3, np.random.default_rng(1)
        )
        assert limit * 0.5 < np.abs(actions).max() <= limit
    values = [
        json.loads(p.file.with_suffix(".json").read_text())["measured"]["discounted"]["value"] for p in (better, lower)
    ]
    assert values[0] > 1.05 * values[1]
