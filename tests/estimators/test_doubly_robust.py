"""The doubly robust estimators against plain loops over the same q, and on problems with known answers."""

from itertools import pairwise

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.estimators.doubly_robust import (
    DoublyRobustConfig,
    doubly_robust,
    estimate,
    temporal_differences,
    weighted_doubly_robust,
)
from ropeval.estimators.fqe import fit_q
from ropeval.estimators.importance_weights import Episodes
from ropeval.evaluation.evaluate import evaluate
from ropeval.learning.engine import Run, member_keys
from tests.estimators.test_importance import uneven_log, wide_policy
from tests.problems import Chain, LinearQuadratic

SMALL = {"steps": 30, "width": 8, "depth": 1, "batch": 16}


def plain(data: Dataset, ratio, logged, following, initial, gamma: float, weighted: bool) -> float:
    """Σ_t γ^t ( w_t r_t − w_t q_t + w_{t−1} V_t ), and γ^T w_{T−1} V_T where an episode was cut off."""
    count, longest = data.num_episodes, int(np.diff(data.starts).max())
    weight = np.ones((count, longest + 1))  # [E, 1 + T]: before the first step, and after each
    for e in range(count):
        for t in range(longest):
            row = data.starts[e] + t
            weight[e, t + 1] = weight[e, t] * (ratio[row] if row < data.starts[e + 1] else 1.0)
    share = weight / weight.sum(axis=0) if weighted else weight / count
    total = 0.0
    for e in range(count):
        first, end = data.starts[e], data.starts[e + 1]
        value = initial[e]
        for t in range(end - first):
            row = first + t
            total += gamma**t * (share[e, t + 1] * (data.rewards[row] - logged[row]) + share[e, t] * value)
            value = following[row]
        length = end - first
        if length == 0 or not data.terminations[end - 1]:
            total += gamma**length * share[e, length] * value
    return float(total)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.training
def test_agrees_with_plain_loops_over_the_same_q(weighted):
    data, policy, run = uneven_log(), wide_policy(), Run(member_keys(0, 2), part="dr")
    problem = make_problem(data, policy, 0.95)
    config = DoublyRobustConfig(**SMALL)
    fitted = fit_q(problem, config, run)
    ratio = np.exp(policy.log_prob(data.observations, data.actions) - data.log_probs)
    found = estimate(problem, config, run, None, weighted)
    parts = zip(fitted.on_logged(), fitted.on_next(), fitted.on_initial(), strict=True)
    assert (np.diff(data.starts) == 0).any()
    expected = [plain(data, ratio, *q, 0.95, weighted) for q in parts]
    np.testing.assert_allclose(found.values, expected, rtol=1e-6, atol=1e-8)
    assert expected[0] != expected[1]
    assert found.effective is not None
    assert 1.0 <= found.effective.size <= data.num_episodes


@pytest.mark.training
def test_the_law_of_the_returns_is_doubly_robust():
    """Its mean is V(s₀), corrected by the weighted returns; what was cut off goes on with q's word."""
    data, policy, run = uneven_log(), wide_policy(), Run(member_keys(0, 2), part="dr")
    problem = make_problem(data, policy, 0.95)
    config = DoublyRobustConfig(**SMALL)
    fitted = fit_q(problem, config, run)
    atoms, mass = estimate(problem, config, run, None, True).returns
    ratio = np.exp(policy.log_prob(data.observations, data.actions) - data.log_probs)
    following, values = fitted.on_next().mean(axis=0), fitted.on_initial().mean(axis=0)
    earned, weight = values.copy(), np.ones(len(values))
    for e, (first, end) in enumerate(pairwise(data.starts)):
        if end > first:
            powers = 0.95 ** np.arange(end - first + 1)
            after = 0.0 if data.terminations[end - 1] else following[end - 1]
            earned[e], weight[e] = powers @ np.append(data.rewards[first:end], after), ratio[first:end].prod()
    share = weight / weight.sum()
    assert mass.sum() == pytest.approx(1.0)
    residual = earned - values
    scatter = atoms[len(values) :].reshape(len(values), -1)[0] - values[0]
    assert set(np.round(scatter, 6)) <= set(np.round(residual, 6))
    expected = values.mean() + scatter.mean() + share @ (residual - scatter.mean())
    assert mass @ atoms == pytest.approx(expected, rel=1e-6)


def test_errors_follow_the_protocol():
    """Where the authors' code bootstraps nothing on the last step of an episode, nothing is expected after it."""
    lq = LinearQuadratic()
    data = lq.log(3)
    last = data.starts[1:] - 1
    logged, following = np.zeros((1, len(data))), np.ones((1, len(data)))
    standard, paper = (
        temporal_differences(make_problem(data, lq.policy(0.5), 0.9, protocol=protocol), logged, following)[0]
        for protocol in ("standard", "paper")
    )
    np.testing.assert_allclose(standard, data.rewards + 0.9, rtol=1e-6)
    np.testing.assert_allclose(paper[last], data.rewards[last], rtol=1e-6)
    np.testing.assert_array_equal(np.delete(paper, last), np.delete(standard, last))


@pytest.mark.parametrize("method", ["dr", "wdr"])
@pytest.mark.parametrize("log_probs", [True, False])
@pytest.mark.training
def test_lands_on_the_chain(method, log_probs):
    """Within 0.03, where q alone, barely trained, is far off."""
    chain = Chain(size=2, gamma=0.7)
    data = chain.log(1500, length=20, log_probs=log_probs)
    settings = {method: {"steps": 100, "width": 16, "depth": 1, "batch": 64, "behaviour_steps": 300}}
    found = evaluate(data, chain.policy(0.8), method, gamma=0.7, members=2, settings=settings)
    assert found.value == pytest.approx(chain.values(0.8)[1], abs=0.03)
    assert len(found.members) == 2


@pytest.mark.parametrize("method", ["dr", "wdr"])
@pytest.mark.training
def test_lands_on_the_linear_quadratic_problem(method):
    """Within 5 %, although every episode is cut off where a third of the value is still to come."""
    problem = LinearQuadratic()
    data = problem.log(400, log_probs=True)
    settings = {method: {"steps": 1000, "width": 64, "depth": 1, "batch": 64, "learning_rate": 2e-3}}
    found = evaluate(data, problem.policy(0.5), method, gamma=0.9, members=2, settings=settings, draws=4)
    assert found.value == pytest.approx(problem.value_at(data.initial_observations, 0.5), rel=0.05)
    assert not any("beyond the log's cut-offs" in w for w in found.warnings)


def test_wrong_q_right_ratios():
    """Unbiased whatever q is: with random numbers for q, the mean over repetitions is the value."""
    chain = Chain(size=2, gamma=0.7)
    policy, found = chain.policy(0.8), []
    table = np.random.default_rng(0).standard_normal((2, 2))  # q [S, A]
    values = table @ [0.2, 0.8]
    for seed in range(100):
        data = chain.log(30, length=25, seed=seed, log_probs=True)
        problem = make_problem(data, policy, chain.gamma)
        state, following = data.observations.argmax(axis=1), data.next_observations.argmax(axis=1)
        errors = temporal_differences(problem, table[state, data.actions][None], values[following][None])[0]
        episodes = Episodes(data.starts, chain.gamma)
        log = episodes.cumulated(policy.log_prob(data.observations, data.actions) - data.log_probs)
        found.append(doubly_robust(log, errors, np.full(30, values[0]), episodes)(np.ones(30, int)))
    assert np.mean(found) == pytest.approx(chain.values(0.8)[1], abs=4 * np.std(found) / 10)


def test_right_q_wrong_ratios():
    """With the exact q the errors vanish on average, so even nonsense for ratios does no harm."""
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(3000, length=30)
    problem = make_problem(data, chain.policy(0.8), chain.gamma)
    table, truth = chain.values(0.8)
    values = table @ [0.2, 0.8]
    state, following = data.observations.argmax(axis=1), data.next_observations.argmax(axis=1)
    errors = temporal_differences(problem, table[state, data.actions][None], values[following][None])[0]
    episodes = Episodes(data.starts, chain.gamma)
    log = episodes.cumulated(np.random.default_rng(1).normal(0.0, 0.1, len(data)))
    for average in (doubly_robust, weighted_doubly_robust):
        found = average(log, errors, np.full(3000, values[0]), episodes)(np.ones(3000, int))
        assert found == pytest.approx(truth, abs=0.02)


def test_constant_reward_without_an_end():
    """With q = r/(1−γ) no step is a surprise, and the cut-off takes nothing away."""
    chain = Chain(size=2, gamma=0.7, terminates=False)
    data = chain.log(20, length=12)
    data = Dataset(**(data.__dict__ | {"rewards": np.full(len(data), 2.0, np.float32)}))
    value = np.full((1, len(data)), 2.0 / 0.3)
    errors = temporal_differences(make_problem(data, chain.policy(0.8), 0.7), value, value)[0]
    episodes, log = Episodes(data.starts, 0.7), np.random.default_rng(0).standard_normal(len(data))
    for average in (doubly_robust, weighted_doubly_robust):
        assert average(log, errors, value[0, :20], episodes)(np.ones(20, int)) == pytest.approx(2.0 / 0.3)
