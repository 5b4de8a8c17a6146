"""Learned estimates against answers in closed form. The tolerances are what these sizes of log allow.

Chain: 2,000 episodes. The MDP of the counts, which is all that a log can tell, is itself up to 2 % off the truth;
learned estimates must come within 3 % of it, and within 5 % of the truth.
Linear-quadratic: 2,000 episodes of 10 steps; within 2 % of the value from the logged initial states with FQE, and
within 5 % through 16 learned ROPE features.
"""

from dataclasses import replace

import numpy as np
import pytest

import ropeval
from tests.problems import Chain, LinearQuadratic

FQE = {"width": 64, "steps": 4_000, "learning_rate": 1e-3}
ROPE = {"width": 64, "steps": 1_500, "learning_rate": 1e-3, "dim": 16}
SETTINGS = {"fqe": FQE, "rope": ROPE}

pytestmark = pytest.mark.slow


def value(log, policy, method="fqe", **settings):
    merged = {part: {**SETTINGS[part], **settings.get(part, {})} for part in method.split("+")}
    return ropeval.evaluate(log, policy, method, gamma=0.9, members=2, settings=merged, draws=4, resample=False).value


def counted_value(chain, log, right):
    """The exact value in the MDP of the counts."""
    n = chain.size
    counts, total = np.zeros((n, 2, n + 1)), np.zeros((n, 2))
    s, a = log.observations.argmax(1), log.actions
    to = np.where(log.terminations, n, log.next_observations.argmax(1))
    np.add.at(counts, (s, a, to), 1)
    np.add.at(total, (s, a), log.rewards)
    visits = counts.sum(-1)
    P, r, pi = counts / visits[..., None], total / visits, np.array([1 - right, right])
    moves = np.einsum("sat,b->satb", P[:, :, :n], pi).reshape(2 * n, 2 * n)
    q = np.linalg.solve(np.eye(2 * n) - chain.gamma * moves, r.reshape(-1)).reshape(n, 2)
    return float(q[0] @ pi)


@pytest.fixture(scope="module")
def chain_log():
    return Chain().log(2000)


@pytest.fixture(scope="module")
def lq_log():
    return LinearQuadratic().log(2000)


@pytest.mark.parametrize("method", ["fqe", "rope+fqe"])
@pytest.mark.parametrize("right", [0.8, 1.0])
def test_chain(chain_log, method, right):
    chain = Chain()
    estimate = value(chain_log, chain.policy(right), method)
    assert estimate == pytest.approx(counted_value(chain, chain_log, right), rel=0.03)
    assert estimate == pytest.approx(chain.values(right)[1], rel=0.05)


@pytest.mark.parametrize(("method", "tolerance"), [("fqe", 0.02), ("rope+fqe", 0.05)])
def test_linear_quadratic_of_a_stochastic_policy_and_of_its_mean(lq_log, method, tolerance):
    lq = LinearQuadratic()
    truths = [lq.value_at(lq_log.initial_observations, sigma) for sigma in (0.0, 0.8)]
    assert truths[1] < 1.5 * truths[0]  # the noise costs much, so confusing the two would show
    for sigma, truth in zip((0.0, 0.8), truths, strict=True):
        assert value(lq_log, lq.policy(sigma), method) == pytest.approx(truth, rel=tolerance)


def test_truncation_taken_for_termination_would_be_wrong(lq_log):
    lq = LinearQuadratic()
    truth = lq.value_at(lq_log.initial_observations, 0.8)
    mislabelled = replace(lq_log, terminations=lq_log.truncations, truncations=lq_log.terminations)
    assert value(mislabelled, lq.policy(0.8)) > 0.9 * truth  # (both negative) it misses what comes after the cut


def test_termination_taken_for_truncation_would_be_wrong(chain_log):
    chain = Chain()
    ends = chain_log.terminations
    mislabelled = replace(chain_log, terminations=np.zeros_like(ends), truncations=chain_log.truncations | ends)
    # The successor logged at termination is the last state itself: the chain that never ends.
    endless = replace(chain, terminates=False)
    estimate = value(mislabelled, chain.policy(0.8))
    assert estimate == pytest.approx(endless.values(0.8)[1], rel=0.06)
    assert estimate > 1.5 * chain.values(0.8)[1]


def test_a_small_huber_delta_biases_noisy_problems(chain_log):
    """Why the default is large: beyond δ the loss is linear, and its minimiser a median."""
    chain = Chain()
    truth = chain.values(0.8)[1]
    assert value(chain_log, chain.policy(0.8), fqe={"huber_delta": 1.0}) < 0.95 * truth


def test_the_estimate_follows_the_unit_of_the_rewards(lq_log):
    lq = LinearQuadratic()
    short = {"fqe": {"steps": 300}}
    one = value(lq_log, lq.policy(0.0), **short)
    thousand = value(replace(lq_log, rewards=lq_log.rewards * 1000), lq.policy(0.0), **short)
    assert thousand == pytest.approx(1000 * one, rel=2e-3)


def test_a_constant_reward_is_worth_its_sum(lq_log):
    lq = LinearQuadratic()
    constant = replace(lq_log, rewards=np.full_like(lq_log.rewards, 2.5))
    for method in ("mean-reward", "fqe", "rope+fqe"):
        assert value(constant, lq.policy(0.0), method) == pytest.approx(25.0, rel=0.01)


def test_baselines_by_hand(columns):
    log = ropeval.Dataset.from_columns(columns)
    rewards = columns["rewards"].astype(float).reshape(3, 4)
    policy = ropeval.UniformPolicy(-1, 1)
    expected = {"mean-reward": rewards.mean() / 0.1, "mean-return": (rewards @ 0.9 ** np.arange(4)).mean()}
    for method, truth in expected.items():
        assert ropeval.evaluate(log, policy, method, gamma=0.9).value == pytest.approx(truth, rel=1e-6)
