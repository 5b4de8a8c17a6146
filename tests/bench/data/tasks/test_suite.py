"""The suite: its splits are whole, its open tasks can be collected, what is missing is said."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.policy_files import locate, sha256_of
from ropeval.bench.data.task_data import load_task
from ropeval.bench.data.tasks import Task, all_tasks, find_task, find_tasks
from ropeval.bench.data.worlds.environments import CLASSIC
from ropeval.bench.run.study import load_study
from ropeval.policies import load_policy
from tests.bench.played_here import HERE

SUITE = {name: task for name, task in all_tasks().items() if name.startswith("suite/")}
OPEN = {name: task for name, task in SUITE.items() if not any(s.files for s in task.policies.values())}
SMALLEST = [name for name in OPEN if not name.endswith(("-20k", "-100k", "-1000", "-5000"))]  # the rest differs in size


def test_the_whole_suite_is_about_forty_logs():
    whole = find_tasks(load_study(Path("suite.toml")).tasks)
    assert 38 <= len(whole) <= 48
    assert 230 <= sum(len(task.judged) for task in whole) <= 280
    assert {task.family for task in whole} == {"locomotion", "classic", "tabular", "bandit", "lq"}
    small = find_tasks(load_study(Path("suite-small.toml")).tasks)
    assert all(task.name in OPEN for task in small)
    assert {task.family for task in small} == {"classic", "tabular", "bandit", "lq"}


@pytest.mark.parametrize("name", SUITE)
def test_splits_are_whole(name):
    task = SUITE[name]
    sides = {task.split_of(policy) for policy in task.judged}
    unseen = name.startswith(("suite/walker2d", "suite/acrobot", "suite/epidemic", "suite/bandit-good"))
    assert sides == ({"test"} if unseen else {"dev", "test"})


def test_one_policy_is_on_one_side_in_all_logs():
    sides: dict[tuple[str, str], set[str]] = {}
    for task in SUITE.values():
        for policy, side in task.judged.items():
            sides.setdefault((task.environment, policy), set()).add(side)
    assert all(len(found) == 1 for found in sides.values())


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("suite")


@pytest.fixture(autouse=True)
def _few_episodes(monkeypatch):
    """For true values of classic control, where tens of thousands are played at once."""
    for world, _ in CLASSIC.values():
        monkeypatch.setattr(world, "episodes", 20)


@pytest.mark.parametrize("name", SMALLEST)
def test_every_open_task_can_be_collected(name, data):
    task = OPEN[name]
    size = {"episodes": 6} if task.episodes else {"transitions": 3_000}
    tiny = task.model_copy(update={**size, "truth_episodes": 2, "value_steps": None})
    collect(tiny, data, pool=HERE)
    found = load_task(tiny, data)
    assert list(found.judged) == list(task.judged)
    if task.episodes:
        assert found.dataset.num_episodes == 6
    assert (found.dataset.log_probs is not None) == (task.propensities and not _without_density(task))
    for judged in found.judged.values():
        assert np.isfinite([judged.truth.discounted.value, judged.truth.mean_reward.value]).all()
        assert judged.truth.episodes == (20 if task.family == "classic" else 0)
        space = found.dataset.space
        judged.policy.check(space)


def _without_density(task: Task) -> bool:
    """ε-greedy over a box: what is not explored is a point."""
    return "greedy" in task.writers and task.environment.endswith(("MountainCarContinuous-v0", "Pendulum-v1"))


def test_logged_propensities_are_the_writers(data):
    task = OPEN["suite/inventory-200"].model_copy(update={"episodes": 4, "version": 9})
    collect(task, data, pool=HERE)
    log = load_task(task, data).dataset
    expected = locate(task, "fair", None).load().log_prob(log.observations, log.actions)
    np.testing.assert_allclose(log.log_probs, expected, atol=1e-6)


def test_the_shipped_line_ups_are_described_and_small():
    folder = Path(find_task("suite/cartpole-weak-5k").policies["1"].spec).parent
    files = sorted(folder.glob("*.npz"))
    assert len(files) == 24
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000
    for path in files:
        about = json.loads(path.with_suffix(".json").read_text())
        assert about["sha256"] == sha256_of(path)
        assert load_policy(path).observation_size
