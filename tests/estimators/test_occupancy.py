"""Occupancy ratios against those of the MDP of the log's counts, which are exact; and what is told of them."""

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem, open_columns, streaming, write_columns
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS, bestdice, dualdice, mwl
from ropeval.estimators.occupancy import make_ratio
from ropeval.estimators.occupancy_features import features_of, table
from ropeval.evaluation.evaluate import evaluate
from ropeval.policies import CallablePolicy
from ropeval.tabular import from_log, occupancy, policy_value
from tests.problems import Chain, LinearQuadratic

METHODS = {
    "dualdice": (dualdice.DualDICEConfig(ridge=1e-12), dualdice.solve),
    "bestdice": (bestdice.BestDICEConfig(ridge=1e-12), bestdice.solve),
    "mwl": (mwl.MWLConfig(ridge=1e-12), mwl.solve),
}


def chain_problem(chain, log, right):
    return make_problem(log, chain.policy(right), chain.gamma, draws=400 if right not in (0.0, 1.0) else None)


def counted(chain, log):
    """The MDP of the counts, with the end as a state of its own."""
    state, following = log.observations.argmax(axis=1), log.next_observations.argmax(axis=1)
    following = np.where(log.terminations, chain.size, following)
    d0 = np.eye(chain.size + 1)[0]
    return from_log(state, log.actions, log.rewards, following, log.terminations, num_states=chain.size + 1,
                    num_actions=2, gamma=chain.gamma, d0=d0, unvisited="stay")  # fmt: skip


def ratio(problem, name):
    config, solve = METHODS[name]
    counts = np.ones(problem.dataset.num_episodes, np.int64)
    cells, rng = table(problem.transitions), np.random.default_rng(0)
    return make_ratio(problem, config, solve, name == "bestdice", cells, rng, counts)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("gamma", "terminates"), [(0.0, True), (0.9, True), (0.99, True), (0.99, False)])
def test_a_table_gives_the_occupancy_of_the_counts(name, gamma, terminates):
    """Of a sure policy, so that nothing is drawn: every pair's weight in the log is its discounted share of visits."""
    chain = Chain(size=4, gamma=gamma, terminates=terminates)
    log = chain.log(40, length=20)
    found, mdp = ratio(chain_problem(chain, log, 1.0), name), counted(chain, log)
    policy = np.tile([0.0, 1.0], (chain.size + 1, 1))
    weight = np.zeros((chain.size + 1, 2))
    np.add.at(weight, (log.observations.argmax(axis=1), log.actions), found.values / len(log))
    np.testing.assert_allclose(weight[: chain.size], occupancy(mdp, policy)[: chain.size], atol=1e-5)
    assert found.estimate == pytest.approx(policy_value(mdp, policy), abs=1e-4)
    assert found.mean == pytest.approx(1.0, abs=1e-4)
    assert found.imbalance < 1e-3
    assert found.negative == 0.0 or found.values.min() > -1e-4


@pytest.mark.parametrize("name", METHODS)
def test_the_truth_within_the_noise_of_the_log(name):
    """A policy that draws its actions, with all of their probabilities."""
    chain = Chain()
    log = chain.log(400, seed=3)
    found = evaluate(log, chain.policy(0.8), name, gamma=chain.gamma, members=1, resample=False)
    assert found.value == pytest.approx(chain.values(0.8)[1], rel=0.1)
    assert found.extras["ratio"]["tabular"]


@pytest.mark.parametrize("name", METHODS)
def test_continuous_states_and_actions(name):
    """The policy is quieter than the log: random features, one member."""
    lq = LinearQuadratic()
    log = lq.log(200, seed=3)
    found = evaluate(log, lq.policy(0.3), name, gamma=0.9, members=1, resample=False)
    assert found.value == pytest.approx(lq.value_at(log.initial_observations, 0.3), rel=0.15)
    assert not found.extras["ratio"]["tabular"]
    assert found.extras["ratio"]["mean"] == pytest.approx(1.0, abs=0.1)


def bandit(rows=2000, arms=3):
    rng = np.random.default_rng(0)
    taken = rng.choice(arms, size=rows, p=[0.6, 0.3, 0.1])
    columns = {"observations": np.ones((rows, 1)), "actions": taken, "rewards": taken + rng.standard_normal(rows) / 10}
    flags = {"terminations": np.ones(rows, bool), "truncations": np.zeros(rows, bool)}
    return Dataset.from_columns({**columns, **flags, "next_observations": columns["observations"]})


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("gamma", [0.0, 0.9])
def test_bandits(name, gamma):
    """The last arm, which a tenth of the log shows: ten times its share, and nothing of the others."""
    policy = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True, name="last")
    found = evaluate(bandit(), policy, name, gamma=gamma, members=1, resample=False)
    assert found.value == pytest.approx(2.0, abs=0.02)
    assert found.extras["ratio"]["mean"] == pytest.approx(1.0, abs=1e-2)


def test_what_is_told_of_a_ratio():
    """Even weights where the policy is the log's own; imbalance where it goes where the log has not been."""
    lq = LinearQuadratic()
    log = lq.log(100)
    options = {"gamma": 0.9, "members": 1, "resample": False}
    own = evaluate(log, lq.policy(0.6), "bestdice", **options)
    assert not any("balance" in line for line in own.warnings)
    assert any("effective sample size" in line and "of 100 episodes" in line for line in own.warnings)
    away = CallablePolicy(lambda o: o @ lq.K.T + 5.0, deterministic=True, name="away")
    for name in METHODS:
        found = evaluate(log, away, name, **options)
        assert any("does not balance the flow" in line for line in found.warnings), name
        assert found.extras["ratio"]["imbalance"] > own.extras["ratio"]["imbalance"]


def test_a_log_with_too_many_pairs_has_no_table():
    chain, lq = Chain(), LinearQuadratic()
    assert table(make_problem(lq.log(100), lq.policy(0.3), 0.9).transitions) is None
    cells = table(make_problem(chain.log(50), chain.policy(0.5), 0.9).transitions)
    assert len(cells.constant) == 2 * chain.size
    x = np.asarray(make_problem(chain.log(50), chain.policy(0.5), 0.9).transitions.rows.x)
    found = features_of(cells, x)
    assert (found.sum(axis=1) == 1.0).all()
    assert len(np.unique(found, axis=0)) == len(np.unique(x, axis=0))


@pytest.mark.parametrize("name", METHODS)
def test_undiscounted_values_are_refused(name):
    with pytest.raises(UserError, match=name):
        evaluate(bandit(10), CallablePolicy(lambda o: np.zeros(len(o), int), deterministic=True), name, gamma=1.0)


def test_entries():
    for name in METHODS:
        assert not ESTIMATORS[name].takes_features
        assert ESTIMATORS[name].check is None  # no probabilities are asked for: any policy will do


@pytest.mark.parametrize("task", [Chain(), LinearQuadratic()])
def test_a_log_that_is_streamed_gives_the_same_ratio(task, tmp_path, monkeypatch):
    log = task.log(20)
    write_columns(tmp_path / "log", log)
    held = ratio(make_problem(log, task.policy(0.5), 0.9, draws=2), "dualdice")
    monkeypatch.setattr(streaming, "HELD_ON_CPU", 0)
    problem = make_problem(open_columns(tmp_path / "log"), task.policy(0.5), 0.9, draws=2)
    assert problem.transitions.streamed
    np.testing.assert_allclose(ratio(problem, "dualdice").values, held.values, rtol=1e-4, atol=1e-6)
