"""The suite: its splits are whole, its open tasks can be collected, what is missing is said."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.policy_files import PoliciesMissing, locate, locate_all, sha256_of
from ropeval.bench.data.task_data import load_task, read_truth
from ropeval.bench.data.tasks import PolicySource, Task, all_tasks, find_task, find_tasks
from ropeval.bench.data.truth import PolicyTruth, Value, make_truth
from ropeval.bench.data.workers import worker_pool
from ropeval.bench.data.worlds.environments import CLASSIC
from ropeval.bench.run.study import load_study
from ropeval.errors import UserError
from ropeval.policies import load_policy

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
def pool():
    with worker_pool(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("suite")


@pytest.fixture(autouse=True)
def _few_episodes(monkeypatch):
    """For true values of classic control, where tens of thousands are played at once."""
    for world, _ in CLASSIC.values():
        monkeypatch.setattr(world, "episodes", 20)


@pytest.mark.parametrize("name", SMALLEST)
def test_every_open_task_can_be_collected(name, data, pool):
    task = OPEN[name]
    size = {"episodes": 6} if task.episodes else {"transitions": 3_000}
    tiny = task.model_copy(update={**size, "truth_episodes": 2, "value_steps": None})
    collect(tiny, data, pool=pool)
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


def test_logged_propensities_are_the_writers(data, pool):
    task = OPEN["suite/inventory-200"].model_copy(update={"episodes": 4, "version": 9})
    collect(task, data, pool=pool)
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


# --- bad input ------------------------------------------------------------------------------------------------


def test_what_is_missing_says_what_to_pass():
    task = find_task("suite/hopper-replay")
    with pytest.raises(PoliciesMissing, match=r"suite/hopper-replay: policy 0 is .*--policies DIR"):
        locate_all(task, None)


def test_policies_that_are_not_found_are_not_judged(shared_policies, tmp_path):
    task = find_task("suite/hopper-medium")
    for number in (5, 10):
        name = f"hopper_online_{number}.npz"
        (tmp_path / name).symlink_to(shared_policies / name)
    assert set(locate_all(task, tmp_path)) == {"5", "10", "5-noisy", "random"}
    with pytest.raises(PoliciesMissing, match=r"policy 0-noisy is hopper_online_0.pkl"):  # a writer has to be there
        locate_all(find_task("suite/hopper-replay"), tmp_path)


def test_a_policy_of_another_environment_is_refused_by_name(tmp_path):
    """Sizes need not tell them apart: the description beside the file does."""
    shipped = Path(find_task("suite/pendulum-weak-5k").policies["1"].spec)
    for suffix in (".npz", ".json"):
        (tmp_path / f"p{suffix}").write_bytes(shipped.with_suffix(suffix).read_bytes())
    source = PolicySource(spec=str(tmp_path / "p.npz"))
    task = Task(
        name="a/b", environment="MountainCarContinuous-v0", policies={"p": source}, judged={"p": "dev"},
        writers={"random": 1}, transitions=10,
    )  # fmt: skip
    with pytest.raises(UserError, match=r"p.npz is a policy of Pendulum-v1.*the task plays MountainCarContinuous-v0"):
        locate_all(task, None)
    (tmp_path / "p.json").unlink()
    with pytest.raises(UserError, match="observations of size 3"):
        collect(task, tmp_path / "data", processes=1, truth_episodes=2)


def truth_of(value: float, error: float) -> PolicyTruth:
    one = Value(value=value, standard_error=error)
    return PolicyTruth(discounted=one, mean_reward=one, mean_return=0.0, mean_length=1.0, episodes=9)


def test_a_rough_truth_is_flagged():
    policies = {"a": truth_of(0, 0.04), "b": truth_of(10, 0.06), "random": truth_of(-90, 9.0)}
    assert make_truth(0.9, policies, ["a", "b"]).imprecise == ("b",)  # half a percent of 10
    assert make_truth(0.9, policies, ["b"]).imprecise == ()  # alone, it is 100 from random
    assert make_truth(0.9, {**policies, "b": truth_of(10, 0.6)}, ["b"]).imprecise == ("b",)


def test_earlier_true_values_are_read(tmp_path):
    one = truth_of(1, 0.1).model_dump()
    (tmp_path / "truth.json").write_text(json.dumps({"gamma": 0.5, "evaluated": one, "behaviour": one, "random": one}))
    truth = read_truth(tmp_path)
    assert list(truth.policies) == ["evaluated", "behaviour", "random"]
    assert (truth.gamma, truth.imprecise) == (0.5, ())
