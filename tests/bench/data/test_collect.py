"""Collecting: what is written is what was played, to the bit, whoever played it and however often it was killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.task_data import load_task, read_truth
from ropeval.bench.data.tasks import Task, find_task
from ropeval.bench.data.workers import worker_pool
from ropeval.data.columns import read_metadata
from ropeval.errors import UserError
from ropeval.files import locked
from tests import struck
from tests.bench.played_here import HERE

FOLDER = Path(__file__).parents[1]
TOY = f"{FOLDER / 'toy_tasks.py'}:toy/countdown"


@pytest.fixture(scope="module")
def toy() -> Task:
    return find_task(TOY)


@pytest.fixture(scope="module")
def collected(toy, tmp_path_factory) -> Path:
    data = tmp_path_factory.mktemp("data")
    collect(toy, data, truth_episodes=300, pool=HERE)
    return data


def test_every_row_is_what_the_environment_did(toy, collected):
    log = load_task(toy, collected).dataset
    remaining = log.observations[:, 0]
    np.testing.assert_allclose(log.rewards, remaining + log.actions[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(log.next_observations[:, 0], remaining - 1)
    np.testing.assert_array_equal(log.terminations, remaining == 1)
    lengths = np.diff(log.starts)
    first = log.initial_observations[:, 0]
    np.testing.assert_array_equal(lengths, np.minimum(first, 8))
    np.testing.assert_array_equal(log.truncations[log.starts[1:] - 1], first > 8)  # at 8, termination wins
    assert log.truncations.sum() == (first > 8).sum()


def test_whole_episodes_that_fit_in_equal_shares(toy, collected):
    metadata = read_metadata(collected / toy.folder / "log")
    log = load_task(toy, collected).dataset
    written = metadata["written_by"]
    assert sum(part["transitions"] for part in written.values()) == len(log)
    assert all(300 - 8 < part["transitions"] <= 300 for part in written.values())
    one, two = (written[role]["transitions"] for role in ("behaviour", "evaluated"))
    assert (log.actions[:one] >= 0).all()
    np.testing.assert_array_equal(log.actions[one : one + two], 0.25)
    assert log.actions[one + two :].min() < -0.4
    assert log.log_probs is None  # a deterministic writer has no density


def test_metadata_says_how_to_make_it_again(toy, collected):
    metadata = read_metadata(collected / toy.folder / "log")
    assert metadata["seed"] == 0
    assert metadata["environment"] == toy.environment
    assert metadata["versions"]["gymnasium"]
    assert metadata["policies"]["evaluated"]["name"] == "toy_tasks:quarter"
    assert not (collected / toy.folder / "parts").exists()


def test_true_values_agree_with_arithmetic(toy, collected):
    """From `first` steps remaining: Σ γ^t (first − t + a) over min(first, 8) steps, first uniform on 1 … 12."""
    truth = read_truth(collected / toy.folder)
    for one, action in ((truth.policies["evaluated"], 0.25), (truth.policies["behaviour"], 0.25), (truth.random, 0.0)):
        returns, sums, lengths = [], [], []
        for first in range(1, 13):
            rewards = first - np.arange(min(first, 8)) + action
            returns.append(rewards @ 0.5 ** np.arange(len(rewards)))
            sums.append(rewards.sum())
            lengths.append(len(rewards))
        assert one.episodes == 300
        assert abs(one.discounted.value - np.mean(returns)) < 4 * one.discounted.standard_error
        assert one.discounted.standard_error == pytest.approx(np.std(returns) / 300**0.5, rel=0.15)
        expected = np.sum(sums) / np.sum(lengths) / 0.5
        assert abs(one.mean_reward.value - expected) < 4 * one.mean_reward.standard_error


@pytest.mark.process
def test_the_same_bits_with_any_number_of_processes(toy, collected, tmp_path):
    with worker_pool(3) as pool:
        collect(toy, tmp_path, truth_episodes=300, pool=pool)
        collect(toy, tmp_path / "other", seed=1, truth_episodes=2, pool=pool)
    one, three = load_task(toy, collected), load_task(toy, tmp_path)
    assert one.dataset.sha256 == three.dataset.sha256
    assert read_truth(collected / toy.folder) == read_truth(tmp_path / toy.folder)
    assert load_task(toy, tmp_path / "other").dataset.sha256 != one.dataset.sha256


@pytest.mark.process
def test_killed_and_resumed_gives_the_same_bits(toy, collected, tmp_path):
    parts = tmp_path / toy.folder / "parts"
    words = ["bench", "collect", TOY, "--data", str(tmp_path), "--processes", "2"]
    with struck.start(signal.SIGKILL, "ropeval.bench.data.streams:Stream.add", *words, nth=5) as process:
        assert process.wait() == -signal.SIGKILL
    assert len(list(parts.glob("*/0*.npz"))) >= 5
    with pytest.raises(UserError, match=r"not collected in .*ropeval bench collect toy/countdown"):
        load_task(toy, tmp_path)
    subprocess.run([sys.executable, "-m", "ropeval", *words], check=True)
    assert load_task(toy, tmp_path).dataset.sha256 == load_task(toy, collected).dataset.sha256
    assert read_truth(tmp_path / toy.folder) == read_truth(collected / toy.folder)


def test_what_was_left_when_all_was_there_goes_unless_it_is_in_use(toy, collected):
    folder = collected / toy.folder
    parts = folder / "parts" / "evaluated"
    parts.mkdir(parents=True)
    with locked(folder / ".lock"):
        collect(toy, collected, pool=HERE)
        assert parts.exists()
    (folder / ".lock").touch()
    collect(toy, collected, pool=HERE)
    assert {path.name for path in folder.iterdir()} == {"log", "truth.json"}


def test_an_interrupted_collection_is_not_mixed_with_another(toy, tmp_path):
    plan = tmp_path / toy.folder / "parts" / "plan.json"
    plan.parent.mkdir(parents=True)
    collect(toy, tmp_path / "other", truth_episodes=2, pool=HERE)
    metadata = read_metadata(tmp_path / "other" / toy.folder / "log")
    plan.write_text(json.dumps({**metadata, "seed": 5}))
    with pytest.raises(UserError, match=r"an interrupted collection with seed 5, but now it is 0.*--overwrite"):
        collect(toy, tmp_path, truth_episodes=2, pool=HERE)


def test_two_collections_of_one_task_do_not_meet(toy, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / toy.folder
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process is collecting this task"):
            collect(toy, tmp_path)


def test_a_changed_task_needs_a_new_version(toy, collected):
    changed = toy.model_copy(update={"gamma": 0.9})
    with pytest.raises(UserError, match=r"collected with gamma 0.5, but the task says 0.9.*new version"):
        load_task(changed, collected)


def test_nothing_is_written_where_the_environment_cannot_be_made(toy, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)  # as if it were not installed
    with pytest.raises(UserError, match=r"pip install 'ropeval\[bench\]'"):
        collect(toy, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_policy_that_does_not_fit_is_refused(toy, tmp_path):
    wrong = toy.model_copy(
        update={"policies": {**toy.policies, "evaluated": find_task("tiny/pendulum").policies["evaluated"]}}
    )
    with pytest.raises(UserError, match="observations of size 3"):
        collect(wrong, tmp_path, truth_episodes=2, pool=HERE)


def test_the_pendulum_agrees_with_the_demos_truth(tmp_path):
    """A stochastic writer's log-probabilities, and values that 20,000 rollouts of other code gave.

    At γ = 0.99 the time limit would cut the discounted sums short, so their episodes are played longer.
    """
    task = find_task("tiny/pendulum").model_copy(update={"transitions": 1_200, "gamma": 0.99, "value_steps": 1_000})
    collect(task, tmp_path, truth_episodes=20, pool=HERE)
    data = load_task(task, tmp_path)
    assert len(data.dataset) == 1_200
    rows = slice(0, 400)  # π_e's own
    expected = data.judged["evaluated"].policy.log_prob(data.dataset.observations[rows], data.dataset.actions[rows])
    np.testing.assert_allclose(data.dataset.log_probs[rows], expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(data.dataset.log_probs[800:], -np.log(4.0), rtol=1e-6)
    known = json.loads(
        (Path(find_task("tiny/pendulum").policies["evaluated"].spec).parents[1] / "truth.json").read_text()
    )
    truth = read_truth(tmp_path / task.folder)
    for one, name in ((truth.policies["evaluated"], "swingup"), (truth.policies["behaviour"], "cautious")):
        expected = known["policies"][name]
        assert abs(one.discounted.value - expected["value"]) < 4 * one.discounted.standard_error
        assert abs(one.mean_reward.value - expected["mean_reward_over_1mg"]) < 4 * one.mean_reward.standard_error


@pytest.mark.parametrize(
    ("environment", "policy", "discounted"),
    [("Hopper-v4", "hopper_online_10", 257.4), ("Hopper-v4", "hopper_online_5", 238.2),
     ("Walker2d-v4", "walker_online_10", 255.3), ("HalfCheetah-v4", "halfcheetah_online_5", 666.4)],
)  # fmt: skip
def test_published_policies_earn_what_they_should(shared_policies, environment, policy, discounted):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (the `bench` extra)")
    from ropeval.bench.data.episodes import Player
    from ropeval.policies import load_policy

    player = Player(environment, load_policy(shared_policies / f"{policy}.npz", "offset"))
    returns = []
    for number in range(3):
        rewards = player.play(0, "test", number).rewards
        returns.append(rewards @ 0.99 ** np.arange(len(rewards)))
    assert np.mean(returns) == pytest.approx(discounted, rel=0.06)


def test_a_true_value_that_another_task_is_at_is_found_beside_it(toy, collected, tmp_path):
    """One true value may serve many tasks, and several may be collected at the same moment."""
    (shared,) = (collected / "truth").iterdir()
    theirs = tmp_path / "truth" / shared.stem / "00000000-00000001.npz"
    theirs.parent.mkdir(parents=True)
    np.savez(theirs, lengths=[1])
    with locked(tmp_path / "truth" / f"{shared.stem}.lock"):
        collect(toy, tmp_path, truth_episodes=300, pool=HERE)
        assert theirs.exists()
    assert (tmp_path / "truth" / shared.name).read_text() == shared.read_text()
    assert not (tmp_path / toy.folder / "parts").exists()
