"""How many steps count, and every method's answer within them, against exact values of a finite MDP."""

from typing import Any

import numpy as np
import pytest

import ropeval
from ropeval.data.horizon import horizon_note, resolved_horizon
from ropeval.tabular import TabularMDP, finite_value, from_log
from tests.problems import Chain

CHAIN = Chain(size=3)
STEPS = 6
EXACT = ["lspe", "wis", "wpdis", "is", "pdis"]


@pytest.fixture(scope="module")
def log():
    return CHAIN.log(1500, length=40, log_probs=True)


@pytest.fixture(scope="module")
def ended():
    """Every episode ends."""
    return CHAIN.log(300, length=2000, right=0.7, log_probs=True)


def mdp() -> TabularMDP:
    """The chain with a state for its end."""
    P, r = CHAIN.tables()
    n = CHAIN.size
    transition = np.zeros((n + 1, 2, n + 1))
    transition[:n], transition[n, :, n] = P, 1.0
    return TabularMDP(transition, np.vstack([r, np.zeros(2)]), np.eye(n + 1)[0], 0.9, np.arange(n + 1) == n)


def policy(right: float) -> np.ndarray:
    return np.tile([1 - right, right], (CHAIN.size + 1, 1))


@pytest.mark.parametrize("gamma", [0.9, 1.0])
@pytest.mark.parametrize("method", EXACT)
def test_the_interval_holds_the_exact_value(log, method, gamma):
    found = ropeval.evaluate(log, CHAIN.policy(0.7), method, gamma=gamma, horizon=STEPS)
    true = finite_value(mdp(), policy(0.7), STEPS, gamma)
    assert found.interval.low < true < found.interval.high
    assert found.interval.high - found.interval.low < 0.5
    assert found.config["horizon"] == STEPS


@pytest.mark.parametrize("steps", [1, 6, 25])
def test_least_squares_is_exact_for_the_mdp_that_the_log_counts(log, steps):
    states, following = log.observations.argmax(axis=1), log.next_observations.argmax(axis=1)
    counted = from_log(
        states, log.actions, log.rewards, following, log.terminations,
        num_states=3, num_actions=2, gamma=0.9, d0=np.eye(3)[0],
    )  # fmt: skip
    found = ropeval.evaluate(log, CHAIN.policy(0.7), "lspe", gamma=1.0, horizon=steps)
    assert counted.num_states in (3, 4)
    pi = np.tile([0.3, 0.7], (counted.num_states, 1))
    assert found.value == pytest.approx(finite_value(counted, pi, steps, 1.0), abs=1e-5)


def test_the_behaviour_itself_earns_its_mean_return(log):
    weighted, plain = (
        ropeval.evaluate(log, CHAIN.policy(0.5), m, gamma=1.0, horizon=STEPS) for m in ("is", "mean-return")
    )
    assert weighted.value == pytest.approx(plain.value, abs=1e-5)
    assert weighted.versus_log.difference == pytest.approx(0.0, abs=1e-5)


def test_undiscounted_where_every_episode_ends(ended):
    longest = int(np.diff(ended.starts).max())
    assert resolved_horizon(ended, 1.0, None) == longest
    assert str(longest) in horizon_note(ended, 1.0, None)
    assert horizon_note(ended, 1.0, 5) is None
    found = ropeval.evaluate(ended, CHAIN.policy(0.8), "lspe", gamma=1.0)
    assert found.value == pytest.approx(finite_value(mdp(), policy(0.8), 500, 1.0), abs=0.05)


def test_undiscounted_without_an_end_is_refused(log):
    with pytest.raises(ropeval.UserError, match=r"gamma is 1, but \d+ of 1500 episodes.*horizon \(the longest episode"):
        ropeval.evaluate(log, CHAIN.policy(0.8), "wis", gamma=1.0)


def test_methods_that_cannot_say_so(log, ended, monkeypatch):
    from dataclasses import replace

    from ropeval.estimators import ESTIMATORS

    monkeypatch.setitem(ESTIMATORS, "mine", replace(ESTIMATORS["lspe"], name="mine", takes_horizon=False))
    with pytest.raises(ropeval.UserError, match="mine: it cannot count the first steps"):
        ropeval.evaluate(log, CHAIN.policy(0.8), "mine", horizon=3)
    with pytest.raises(ropeval.UserError, match="rope learns distances that are finite for a gamma below 1"):
        ropeval.evaluate(ended, CHAIN.policy(0.8), "rope+fqe", gamma=1.0)
    with pytest.raises(ropeval.UserError, match="tune"):
        ropeval.evaluate(log, CHAIN.policy(0.8), "fqe", horizon=3, tune=True)
    with pytest.raises(ropeval.UserError, match="horizon is 0"):
        ropeval.evaluate(log, CHAIN.policy(0.8), "wis", horizon=0)


@pytest.mark.training
def test_learned_methods_come_near_the_exact_value():
    log = CHAIN.log(150, length=12, log_probs=True)
    true = finite_value(mdp(), policy(0.7), STEPS, 1.0)
    small = {"steps": 300, "width": 16, "batch": 64, "learning_rate": 5e-3}
    more: dict[str, dict[str, Any]] = {
        "wdr": {"clip_targets": True},
        "world": {"rollouts": 64},
        "fqe-horizon": {"tau": 0.1},
    }
    for method in more:
        settings = {method: small | more[method]}
        found = ropeval.evaluate(log, CHAIN.policy(0.7), method, gamma=1.0, horizon=STEPS, members=2, settings=settings)
        assert found.value == pytest.approx(true, abs=0.15), method
