"""The cross-entropy method: it improves, the same seed gives the same policies, and files act as what was trained."""

import json

import numpy as np
import pytest

from ropeval.bench.data.evolve import HIDDEN, Network, evenly_spread, evolve
from ropeval.bench.data.policy_files import sha256_of
from ropeval.errors import UserError
from ropeval.policies import load_policy
from ropeval.policies.policy import Space


@pytest.fixture(autouse=True)
def _measured_once(monkeypatch):
    monkeypatch.setattr("ropeval.bench.data.evolve.AGAIN", 1)


def test_a_pole_is_balanced_longer_and_longer(tmp_path):
    lines = []
    evolve("CartPole-v1", tmp_path, generations=16, episodes=1, keep=3, report=lambda _, line: lines.append(line))
    assert lines[-1]["return"] > 1.5 * lines[0]["return"]
    values = []
    for number in (1, 2, 3):
        path = tmp_path / f"cartpole_{number}.npz"
        about = json.loads(path.with_suffix(".json").read_text())
        assert about["sha256"] == sha256_of(path)
        assert about["environment"] == "CartPole-v1"
        assert (load_policy(path).action_size, load_policy(path).discrete) == (2, True)
        values.append(about["discounted"])
    assert values == sorted(values)
    assert len((tmp_path / "curve.jsonl").read_text().splitlines()) == 16


def test_the_same_seed_gives_the_same_policies(tmp_path):
    for name in ("one", "two"):
        evolve("Pendulum-v1", tmp_path / name, generations=2, episodes=1, population=5, keep=2, seed=3)
    for number in (1, 2):
        one, two = (tmp_path / name / f"pendulum_{number}.npz" for name in ("one", "two"))
        assert load_policy(one).sha256 == load_policy(two).sha256


@pytest.mark.parametrize("discrete", [True, False])
def test_a_file_acts_as_the_network_did(tmp_path, discrete):
    rng = np.random.default_rng(0)
    low, high = np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32)
    space = Space(3, 2, True) if discrete else Space(3, 2, False, low, high)
    network = Network(space, np.array([1.0, -2.0, 0.0]), np.array([0.5, 3.0, 0.01]))
    assert network.size == HIDDEN * 4 + 2 * (HIDDEN + 1)
    weights = rng.standard_normal(network.size)
    np.savez(tmp_path / "p.npz", **network.arrays(weights))
    policy = load_policy(tmp_path / "p.npz")
    seen = rng.standard_normal((30_000, 1)) * 0 + np.array([[1.2, -1.0, 0.004]])
    layers = network.layers(np.repeat(weights[None], len(seen), 0))
    ours, theirs = network.act(layers, seen, rng), policy.sample(seen.astype(np.float32), rng)
    np.testing.assert_allclose(theirs.mean(axis=0), ours.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(theirs.std(axis=0), ours.std(axis=0), atol=0.02)


def test_more_policies_than_generations_are_refused(tmp_path):
    with pytest.raises(UserError, match="7 policies are to be kept, but there are only 3 generations"):
        evolve("CartPole-v1", tmp_path, generations=3, keep=7)


def test_policies_are_spread_evenly():
    assert evenly_spread([0.0, 9.0, 1.0, 5.0, 10.0, 4.9], 3) == [0, 3, 4]
    assert evenly_spread([2.0, 1.0], 2) == [1, 0]
