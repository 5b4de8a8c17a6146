"""Estimates keep to what the rewards allow, whatever the method says."""

import numpy as np
import pytest

from ropeval import Dataset, evaluate
from ropeval.estimators import Estimated
from ropeval.evaluation import evaluate as module
from ropeval.evaluation.fit import Fitted
from ropeval.policies import CallablePolicy
from tests.problems import Chain


def pole(episodes=30, length=20):
    """A reward of 1 in every step, and some episodes that end: with γ = 0.99 nothing is worth more than 100."""
    rng = np.random.default_rng(0)
    size = episodes * length
    states, last = rng.standard_normal((size + 1, 2)), np.tile(np.arange(length) == length - 1, episodes)
    ends = last & (np.arange(size) < size // 2)
    return Dataset.from_columns(
        {
            "observations": states[:-1], "next_observations": states[1:], "actions": rng.integers(2, size=size),
            "rewards": np.ones(size), "terminations": ends, "truncations": last & ~ends,
        }
    )  # fmt: skip


def said(monkeypatch, *values, log=None, **options):
    """The estimate of a method whose members say this."""
    monkeypatch.setattr(
        module, "fit", lambda problem, method, run: Fitted(problem, Estimated(np.array(values)), {}, None, ())
    )
    return evaluate(log or pole(), Chain.policy(0.5), "fqe", gamma=0.99, members=len(values), **options)


def test_a_member_beyond_the_rewards_is_named_and_left_out(monkeypatch):
    found = said(monkeypatch, 23.6, 63.9, 45.4, 171.2)
    assert found.value == pytest.approx(np.mean([23.6, 63.9, 45.4]))
    assert (found.lowest, found.highest) == (23.6, 63.9)
    assert found.members == [23.6, 63.9, 45.4, 171.2]
    assert (found.diverged, found.left_out) == ([], [3])
    assert (found.interval.low, found.interval.high) == pytest.approx((0.0, 100.0))  # cut at both ends
    assert [f.code for f in found.diagnosis if "171.2" in f.message] == ["out-of-bounds"]


def test_what_is_a_little_beyond_is_cut(monkeypatch):
    found = said(monkeypatch, 100.0, 101.0)
    assert found.value == found.highest == pytest.approx(100.0)
    assert found.left_out == []
    assert found.interval.high == pytest.approx(100.0)
    assert not any(f.code == "out-of-bounds" for f in found.diagnosis)


def test_where_all_are_beyond_only_the_bounds_are_left(monkeypatch):
    found = said(monkeypatch, 150.0, 160.0)
    assert found.value == pytest.approx(100.0)
    assert (found.interval.low, found.interval.high, found.interval.kind) == (0.0, pytest.approx(100.0), "bounds")
    assert found.diagnosis[0].message.startswith("the estimate, 155, lies outside [0, 100]")


def test_a_straight_line_goes_on_and_the_estimate_does_not():
    """r = a, logged with a between 0 and 1, and judged for a = 0.95 and 5."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(size=(400, 1))
    states, cut = rng.standard_normal((401, 1)), np.tile(np.arange(10) == 9, 40)
    columns = {"observations": states[:-1], "next_observations": states[1:], "actions": actions}
    log = Dataset.from_columns(
        {**columns, "rewards": actions[:, 0], "terminations": np.zeros(400, bool), "truncations": cut}
    )
    for action, expected in ((0.95, 9.5), (5.0, 10 * actions.max())):
        policy = CallablePolicy(lambda s, a=action: np.full((len(s), 1), a), deterministic=True, name="always")
        found = evaluate(log, policy, "lspe", gamma=0.9)
        assert found.value == pytest.approx(expected, rel=1e-3)
        assert found.interval.high <= 10 * actions.max() + 1e-5


def test_baselines_are_facts_about_the_log_and_are_not_cut():
    """In a bandit the mean reward for ever is no value, but it is what it says."""
    rng = np.random.default_rng(0)
    states, rewards = rng.standard_normal((50, 1)), rng.uniform(size=50)
    columns = {"observations": states, "next_observations": states, "actions": rng.integers(2, size=50)}
    ends = {"terminations": np.ones(50, bool), "truncations": np.zeros(50, bool)}
    log = Dataset.from_columns({**columns, **ends, "rewards": rewards})
    found = evaluate(log, Chain.policy(0.5), "mean-reward", gamma=0.9)
    assert found.value == pytest.approx(10 * rewards.mean(), rel=1e-5)
    assert not any(f.code == "out-of-bounds" for f in found.diagnosis)
