"""What all networks share."""

from unittest.mock import Mock

import numpy as np
import pytest

from ropeval.policies import GaussianMLP, load_policy, networks
from ropeval.policies.discrete import CategoricalMLP
from ropeval.policies.normalised import NormalisedPolicy, Statistics
from tests.policies.samples import arrays, save

SEEN = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


def gaussian(folder):
    return load_policy(save(folder, arrays()))


def normalised(folder):
    return NormalisedPolicy(gaussian(folder), Statistics(np.ones(3), np.full(3, 2.0), 1e-8, 10.0))


def categorical(_):
    rng = np.random.default_rng(1)
    hidden, logits = (
        (rng.standard_normal(shape).astype(np.float32), np.zeros(shape[0], np.float32)) for shape in ((8, 3), (4, 8))
    )
    return CategoricalMLP([hidden], logits)


@pytest.mark.parametrize("make", [gaussian, normalised, categorical])
def test_draws_are_samples_for_which_the_network_is_asked_once(make, tmp_path, monkeypatch):
    policy = make(tmp_path)
    rng = np.random.default_rng(2)
    samples = np.array([policy.sample(SEEN, rng) for _ in range(3)])
    network = getattr(policy, "inside", policy)
    hidden = Mock(side_effect=network.hidden)
    monkeypatch.setattr(network, "hidden", hidden)
    np.testing.assert_array_equal(list(policy.draws(SEEN, 3, np.random.default_rng(2))), samples)
    hidden.assert_called_once()


@pytest.mark.parametrize("make", [gaussian, normalised, categorical])
def test_some_states_at_a_time_get_the_same_actions(make, tmp_path, monkeypatch):
    policy = make(tmp_path)
    whole = list(policy.draws(SEEN, 3, np.random.default_rng(2)))
    monkeypatch.setattr(networks, "NEAR", 2)
    np.testing.assert_allclose(list(policy.draws(SEEN, 3, np.random.default_rng(2))), whole, rtol=1e-5)
    assert np.shape(list(policy.draws(SEEN[:0], 3, np.random.default_rng(2)))) == (3, 0, *np.shape(whole)[2:])


def test_luck_is_drawn_when_it_is_asked_and_not_later(tmp_path):
    """Another thread may go through the answer, after the next block has been asked about."""
    policy, rng, other = gaussian(tmp_path), np.random.default_rng(2), np.random.default_rng(2)
    asked = [policy.draws(SEEN, 3, rng), policy.draws(SEEN, 3, rng)]
    second, first = list(asked[1]), list(asked[0])
    np.testing.assert_array_equal(first, list(policy.draws(SEEN, 3, other)))
    np.testing.assert_array_equal(second, list(policy.draws(SEEN, 3, other)))


def test_whoever_samples_otherwise_draws_so(tmp_path):
    class Still(GaussianMLP):
        def sample(self, observations, rng):
            return np.zeros((len(observations), 2), np.float32)

    policy = gaussian(tmp_path)
    policy.__class__ = Still
    assert not np.any(list(policy.draws(SEEN, 3, np.random.default_rng(2))))
    assert not policy.side_by_side


def test_the_hash_tells_policies_and_modes_apart(tmp_path):
    a, b = arrays(), arrays(layout="sb3")
    path = save(tmp_path, a)
    assert isinstance(load_policy(path), GaussianMLP)
    hashes = {
        load_policy(path).sha256,
        load_policy(f"{path}@mean").sha256,
        load_policy(save(tmp_path, b, "b.npz")).sha256,
    }
    assert len(hashes) == 3
