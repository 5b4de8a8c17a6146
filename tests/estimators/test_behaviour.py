"""The behaviour policy fitted to a log: near the truth where that is known, whatever box its actions live in."""

import numpy as np
import pytest

from ropeval.data import Dataset, Log
from ropeval.estimators.behaviour import BehaviourConfig, fit_behaviour, standardise, transform
from ropeval.learning.engine import Run, member_keys
from ropeval.policies import GaussianMLP, Policy
from tests.problems import Chain, LinearQuadratic

RUN = Run(member_keys(0, 2), part="behaviour")
QUICK = BehaviourConfig(steps=400, width=16, depth=1, batch=128, learning_rate=3e-3)


@pytest.mark.training
def test_fitted_softmax_is_close_to_the_truth():
    chain = Chain(size=3)
    data = chain.log(300, right=0.3, log_probs=True)
    fitted = fit_behaviour(Log(data, 0.9), QUICK, RUN)
    assert fitted.log_probs.shape == (2, len(data))
    assert np.abs(fitted.log_probs - data.log_probs).mean() < 0.08


@pytest.mark.training
def test_fitted_gaussian_is_close_to_the_truth():
    lq = LinearQuadratic()
    data = lq.log(300, log_probs=True)
    fitted = fit_behaviour(Log(data, 0.9), QUICK, RUN)
    assert np.abs(fitted.log_probs - data.log_probs).mean() < 0.05
    assert not fitted.warnings


def gaussian_mlp(scale: float, box: tuple[float, float] | None = None) -> GaussianMLP:
    rng = np.random.default_rng(0)
    mean = (scale * rng.standard_normal((1, 2)).astype(np.float32), np.zeros(1, np.float32))
    log_std = (np.zeros((1, 2), np.float32), np.full(1, -0.3, np.float32))
    bounds = None if box is None else tuple(np.full(1, b, np.float32) for b in box)
    return GaussianMLP([], mean, log_std, action_range=bounds)


def squashed_log(policy: Policy, steps: int = 3000) -> Dataset:
    rng = np.random.default_rng(1)
    observations = rng.standard_normal((steps, 2)).astype(np.float32)
    ends = np.arange(steps) % 10 == 9
    actions = policy.sample(observations, rng)
    return Dataset.from_columns(
        {
            "observations": observations,
            "actions": actions,
            "rewards": actions.sum(axis=1),
            "terminations": ends,
            "truncations": np.zeros_like(ends),
            "next_observations": rng.standard_normal((steps, 2)),
        }
    )


@pytest.mark.parametrize("box", [None, (-0.4, 0.4), (0.0, 5.0)])
@pytest.mark.training
def test_fitted_tanh_gaussian_is_close_to_the_truth(box):
    behaviour = gaussian_mlp(1.0, box)
    data = squashed_log(behaviour)
    fitted = fit_behaviour(Log(data, 0.9), QUICK, RUN)
    assert np.abs(fitted.log_probs - behaviour.log_prob(data.observations, data.actions)).mean() < 0.12


def test_family_follows_the_actions():
    lq = LinearQuadratic().log(300)
    assert not standardise(lq.actions, lq.observations).squashed.any()
    squashed = squashed_log(gaussian_mlp(1.0, (0.0, 5.0)))
    assert standardise(squashed.actions, squashed.observations).squashed.all()
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-1, 1, (2000, 1)).astype(np.float32)
    assert standardise(uniform, rng.standard_normal((2000, 2)).astype(np.float32)).squashed.all()
    forced = standardise(uniform, np.zeros((2000, 1), np.float32), "gaussian")
    assert not forced.squashed.any()


def test_slope_is_the_derivative():
    a = np.linspace(-1.9, 0.9, 50)
    for box in (None, (-2.0, 1.0)):
        (low, _), (high, _) = transform(a - 1e-6, box), transform(a + 1e-6, box)
        np.testing.assert_allclose(transform(a, box)[1], np.log((high - low) / 2e-6), atol=1e-5)


@pytest.mark.training
def test_actions_that_follow_the_states_are_reported():
    lq = LinearQuadratic()
    data = lq.log(300, exploration=0.0)
    found = fit_behaviour(Log(data, 0.9), QUICK, RUN)
    assert "looks deterministic" in found.warnings[0]
    assert np.isfinite(found.log_probs).all()
