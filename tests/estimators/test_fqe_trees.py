"""Boosted trees: the exact answer on a finite MDP, whichever way states are coded, and what is taken as a category."""

from dataclasses import replace

import numpy as np
import pytest

import ropeval
from ropeval.data import make_problem, needs
from ropeval.errors import UserError
from ropeval.estimators.fqe_trees import NEEDS, Columns, FQETreesConfig, Grower, categorical, distinct
from ropeval.evaluation.methods import make_method
from tests.problems import Chain, LinearQuadratic

# Enough of everything that a finite MDP is learned by heart.
BY_HEART = {"trees": 40, "learning_rate": 0.5, "l2": 0.0, "rows_per_leaf": 1}
SHUFFLED = np.array([3, 0, 4, 1, 2])  # an order that means nothing


def coded(log, codes):
    """The chain's one-hot states as one column of these numbers."""
    names = ("observations", "next_observations", "initial_observations")
    return replace(log, **{name: (getattr(log, name) @ codes)[:, None].astype(np.float32) for name in names})


def certainty_equivalent(log, right, gamma):
    """The value in the MDP that the log's counts make: what any q that is free in every pair comes to."""
    states, following = log.observations.argmax(1), log.next_observations.argmax(1)
    pairs, policy = 2 * states + log.actions, np.array([1 - right, right])
    counts = np.bincount(pairs, minlength=10)
    onward = np.zeros((10, 5))
    np.add.at(onward, (pairs, following), gamma * ~log.terminations)
    transition = (onward[:, :, None] * policy).reshape(10, 10) / counts[:, None]
    q = np.linalg.solve(np.eye(10) - transition, np.bincount(pairs, log.rewards, 10) / counts)
    return float(q[:2] @ policy)  # every episode begins in state 0


@pytest.fixture(scope="module")
def chain_log():
    return Chain().log(60, seed=1)


@pytest.mark.parametrize("codes", [None, np.arange(5), SHUFFLED])
@pytest.mark.training
def test_a_finite_mdp_exactly(chain_log, codes):
    log = chain_log if codes is None else coded(chain_log, codes)
    found = ropeval.evaluate(
        log, Chain.policy(0.8), "fqe-trees", gamma=0.9, resample=False, settings={"fqe-trees": BY_HEART}
    )
    assert len(found.members) == 1  # nothing is random
    assert found.value == pytest.approx(certainty_equivalent(chain_log, 0.8, 0.9), rel=2e-3)
    assert not any("iteration" in warning for warning in found.warnings)


@pytest.mark.training
def test_too_few_iterations_are_told(chain_log):
    few = {"fqe-trees": {**BY_HEART, "iterations": 2}}
    found = ropeval.evaluate(chain_log, Chain.policy(0.8), "fqe-trees", gamma=0.9, resample=False, settings=few)
    assert any("raise fqe-trees.iterations" in warning for warning in found.warnings)


def test_a_count_is_as_good_as_a_copy():
    """An episode that a resample holds twice weighs like two."""
    lq = LinearQuadratic()
    log = lq.log(6, length=20)
    problem = make_problem(log, lq.policy(0.5), 0.9, draws=2)
    asked = problem.answers
    columns = Columns(distinct(asked.logged), distinct(*asked.following), distinct(*asked.initial), categorical=[])
    config = FQETreesConfig(trees=5, rows_per_leaf=3)
    weights, target = np.repeat([2.0, 0.0, 1.0, 1.0, 1.0, 1.0], 20), np.cos(np.arange(120.0))
    weighed = Grower(columns, config, weights).fit(target)
    nonsense = np.where(weights > 0, target, 1e6)  # what is not held says nothing
    for one, other in zip(weighed, Grower(columns, config, weights).fit(nonsense), strict=True):
        np.testing.assert_array_equal(one, other)
    doubled = Grower(columns, FQETreesConfig(trees=5, rows_per_leaf=6, l2=2.0), 2.0 * weights).fit(target)
    held = weights > 0  # beyond it, two cuts may be equally good
    np.testing.assert_allclose(weighed[0][held], doubled[0][held], rtol=1e-5)


def test_pairs_are_looked_at_once(chain_log):
    problem = make_problem(chain_log, Chain.policy(0.8), 0.9, draws=3)
    following = problem.answers.following.pairs
    found = distinct(following)
    assert found.rows.shape == (10, 6)  # five states, two actions
    assert found.places.shape == (len(chain_log), 3)
    raw, actions = following.raw(slice(None))
    np.testing.assert_array_equal(found.rows[found.places][:, :, :5], np.repeat(raw[:, None], 3, axis=1))
    np.testing.assert_array_equal(found.rows[found.places][:, :, 5], actions)


def test_which_columns_are_categories(chain_log):
    assert categorical(chain_log, 32) == [5]  # one-hot columns have two values; the action is the sixth
    assert categorical(coded(chain_log, SHUFFLED), 32) == [0, 1]
    assert categorical(coded(chain_log, SHUFFLED), 4) == [1]
    assert categorical(coded(chain_log, SHUFFLED - 1), 32) == [1]  # negative numbers are no codes
    assert categorical(coded(chain_log, SHUFFLED / 2), 32) == [1]
    assert categorical(LinearQuadratic().log(3), 32) == []


def test_iterations_are_as_many_as_gamma_needs():
    assert FQETreesConfig().iterations_for(0.0) == 1
    assert FQETreesConfig().iterations_for(0.5) == 10
    assert FQETreesConfig().iterations_for(0.99) == 50


def test_without_lightgbm_the_extra_is_named(chain_log, monkeypatch):
    assert [need.words for need in NEEDS] == ["lightgbm (pip install 'ropeval[trees]')"]
    monkeypatch.setattr(needs, "find_spec", lambda module: None)
    with pytest.raises(UserError, match=r"lightgbm is not installed; fqe-trees needs .*pip install 'ropeval\[trees\]'"):
        make_method("fqe-trees").check(chain_log, Chain.policy(0.8))
