"""Gaussian networks, squashed or clipped: actions and densities."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from ropeval.policies import ClippedGaussianMLP, load_policy
from tests.policies.hostile import FILES
from tests.policies.samples import HIGH, LOW, arrays, save

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("layout", ["deep_ope", "sb3"])
def test_the_three_action_modes(tmp_path, layout):
    content = arrays(layout)
    path = save(tmp_path, content)
    observations = RNG.standard_normal((500, 3)).astype(np.float32)
    keys = [k for k in content if k.endswith(("_w", "weight"))]
    h = observations
    for weight in keys[:2]:
        bias = weight.replace("_w", "_b") if layout == "deep_ope" else weight.replace("weight", "bias")
        h = np.maximum(h @ content[weight].T + content[bias], 0)
    (mw, mb), (sw, sb) = [
        (content[k], content[k.replace("_w", "_b") if layout == "deep_ope" else k.replace("weight", "bias")])
        for k in keys[2:]
    ]
    mean, std = h @ mw.T + mb, np.exp(h @ sw.T + sb)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(load_policy(f"{path}@mean").sample(observations, rng), np.tanh(mean), rtol=1e-5)
    np.testing.assert_allclose(
        load_policy(f"{path}@offset").sample(observations, rng), np.tanh(mean + 0.1 * std), rtol=1e-5
    )
    stochastic = load_policy(path)
    assert (stochastic.kind, load_policy(f"{path}@mean").kind) == ("stochastic", "deterministic")
    draws = np.stack([np.arctanh(stochastic.sample(observations, rng).astype(float)) for _ in range(400)])
    np.testing.assert_allclose(np.median(draws, axis=0), mean, atol=0.35 * std.max())
    assert abs(np.mean((draws - mean) ** 2 / std**2) - 1) < 0.05


def test_actions_are_scaled_to_the_stored_range(tmp_path):
    bounds = {"action_low": np.array([-2, 0], np.float32), "action_high": np.array([2, 10], np.float32)}
    policy = load_policy(save(tmp_path, arrays() | bounds))
    actions = policy.sample(RNG.standard_normal((1000, 3)).astype(np.float32), RNG)
    assert (actions >= [-2, 0]).all()
    assert (actions <= [2, 10]).all()
    assert actions[:, 1].max() > 5


def test_the_density_integrates_to_one(tmp_path):
    content = arrays(actions=1) | {"action_low": np.float32([-2]), "action_high": np.float32([3])}
    policy = load_policy(save(tmp_path, content))
    observation = RNG.standard_normal((1, 3)).astype(np.float32)
    density = lambda a: np.exp(policy.log_prob(observation, np.array([[a]]))[0])  # noqa: E731
    total, _ = integrate.quad(density, -2 + 1e-6, 3 - 1e-6, limit=200)
    assert total == pytest.approx(1, abs=2e-3)


def test_a_clipped_gaussians_faces_and_inside_add_up_to_one(expected):
    """One coordinate: the masses on both faces and the density between them are a whole distribution."""
    weight, bias = np.zeros((1, 3), np.float32), np.float32([0.4])
    policy = ClippedGaussianMLP([], (weight, bias), np.float32([0.3]), (np.float32([-1]), np.float32([1.5])))
    observation = expected["observations"][:1]
    at = lambda a: np.exp(policy.log_prob(observation, np.array([[a]]))[0])  # noqa: E731
    between, _ = integrate.quad(at, -1 + 1e-9, 1.5 - 1e-9)
    assert at(-1.0) + between + at(1.5) == pytest.approx(1, abs=1e-6)
    assert at(1.6) == 0


def test_clipped_draws_lie_in_the_box_as_often_as_they_should(expected):
    observation = np.repeat(expected["observations"][:1], 20_000, axis=0)
    policy: Any = load_policy(FILES / "ppo.zip")
    actions = policy.sample(observation, RNG)
    assert (actions >= LOW).all()
    assert (actions <= HIGH).all()
    mean, std = policy.distribution(observation[:1])
    inside = stats.norm.cdf(HIGH, mean[0], std) - stats.norm.cdf(LOW, mean[0], std)
    np.testing.assert_allclose(((actions > LOW) & (actions < HIGH)).mean(axis=0), inside, atol=0.02)
