"""Exploring: what is taken is as likely as it says."""

import jax
import numpy as np
import pytest

from ropeval.bench.data.exploring import ExploringPolicy
from ropeval.policies import CallablePolicy, CategoricalMLP, GaussianMLP
from ropeval.policies.policy import Space

rng = np.random.default_rng(0)
LAYER = (rng.standard_normal((3, 2)).astype(np.float32), np.zeros(3, np.float32))
DISCRETE = Space(2, 3, discrete=True)
BOX = Space(2, 3, False, -np.ones(3, np.float32), np.ones(3, np.float32))
SEEN = np.tile(np.array([[0.3, -0.7]], np.float32), (40_000, 1))


@pytest.mark.parametrize("mode", ["mean", "stochastic"])
def test_propensities_are_frequencies(mode):
    policy = ExploringPolicy(CategoricalMLP([], LAYER, mode), 0.3).fitted(DISCRETE)
    assert policy.has_log_prob
    said = np.exp([policy.log_prob(SEEN[:1], np.array([action]))[0] for action in range(3)])
    counted = np.bincount(policy.sample(SEEN, np.random.default_rng(1)), minlength=3) / len(SEEN)
    np.testing.assert_allclose(counted, said, atol=4 * 0.5 / len(SEEN) ** 0.5)
    assert said.sum() == pytest.approx(1.0)
    assert said.min() >= 0.1 - 1e-12  # any action, three times in ten


def test_densities_are_mixtures():
    inner = GaussianMLP([], LAYER, (np.zeros((3, 2), np.float32), np.full(3, -1.0, np.float32)))
    policy = ExploringPolicy(inner, 0.2).fitted(BOX)
    actions = policy.sample(SEEN, np.random.default_rng(1))
    expected = 0.8 * np.exp(inner.log_prob(SEEN, actions)) + 0.2 / 8
    np.testing.assert_allclose(np.exp(policy.log_prob(SEEN, actions)), expected, rtol=1e-6)


def test_a_deterministic_policy_in_a_box_has_no_density():
    inner = GaussianMLP([], LAYER, (np.zeros((3, 2), np.float32), np.zeros(3, np.float32)), mode="mean")
    policy = ExploringPolicy(inner, 0.2).fitted(BOX)
    assert not policy.has_log_prob
    explored = (policy.sample(SEEN, np.random.default_rng(1)) != inner.sample(SEEN, np.random.default_rng(1))).any(
        axis=1
    )
    assert explored.mean() == pytest.approx(0.2, abs=0.01)


def test_its_hash_knows_how_often_it_explores():
    inner = CategoricalMLP([], LAYER)
    hashes = {inner.sha256, ExploringPolicy(inner, 0.1).sha256, ExploringPolicy(inner, 0.2).sha256}
    assert len(hashes) == 3


@pytest.mark.parametrize("mode", ["mean", "stochastic"])
def test_inside_a_program_it_explores_as_often(mode):
    policy = ExploringPolicy(CategoricalMLP([], LAYER, mode), 0.3).fitted(DISCRETE)
    compiled = policy.compiled()
    drawn = np.asarray(compiled.act(compiled.params, SEEN, jax.random.key(0)))
    said = np.exp([policy.log_prob(SEEN[:1], np.array([action]))[0] for action in range(3)])
    assert drawn.dtype == np.int32
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / len(SEEN), said, atol=4 * 0.5 / len(SEEN) ** 0.5)


def test_inside_a_program_it_explores_a_box():
    inner = GaussianMLP([], LAYER, (np.zeros((3, 2), np.float32), np.zeros(3, np.float32)), mode="mean")
    compiled = ExploringPolicy(inner, 0.2).fitted(BOX).compiled()
    drawn = np.asarray(compiled.act(compiled.params, SEEN, jax.random.key(0)))
    own = inner.sample(SEEN[:1], np.random.default_rng(0))
    explored = (np.abs(drawn - own) > 1e-5).any(axis=1)
    assert explored.mean() == pytest.approx(0.2, abs=0.01)
    assert (drawn[explored].min(axis=0) < -0.99).all()  # anywhere in the box
    assert (drawn[explored].max(axis=0) > 0.99).all()


def test_around_a_function_there_is_no_program():
    assert ExploringPolicy(CallablePolicy(lambda o: o, deterministic=True), 0.2).fitted(DISCRETE).compiled() is None
