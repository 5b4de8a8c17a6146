"""Boosted trees: the exact answer on a finite MDP, whichever way states are coded, and what is taken as a category."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ropeval
from ropeval.data import Dataset, make_problem, needs
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.fqe_trees import LEAST_SHARE, NEEDS, FQETreesConfig, Grower, samples, share_of_shift
from ropeval.estimators.tree_columns import Columns, categorical, distinct, more_than
from ropeval.evaluation.methods import make_method
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
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
    problem = make_problem(lq.log(6, length=20), lq.policy(0.5), 0.9, draws=2)
    asked, weights, target = problem.answers, np.repeat([2.0, 1.0, 1.0, 1.0, 1.0], 20), np.cos(np.arange(100.0))
    held = np.arange(20, 120)
    columns = Columns(
        distinct(asked.logged, steps=held), distinct(*asked.following, held), distinct(*asked.initial), []
    )
    weighed = Grower(columns, FQETreesConfig(trees=5, rows_per_leaf=3), weights).fit(target)
    doubled = Grower(columns, FQETreesConfig(trees=5, rows_per_leaf=6, l2=2.0), 2.0 * weights).fit(target)
    np.testing.assert_allclose(columns.logged.mean(weighed), columns.logged.mean(doubled), rtol=1e-5)
    copies = np.append(np.arange(20, 40), held)
    copied = columns._replace(logged=distinct(asked.logged, steps=copies))
    same = Grower(copied, FQETreesConfig(trees=5, rows_per_leaf=3), np.ones(120)).fit(np.append(target[:20], target))
    np.testing.assert_array_equal(columns.following.mean(weighed), columns.following.mean(same))


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


# --- long logs ------------------------------------------------------------------------------------------------------


def with_noise(log):
    """A column that means nothing, and makes every pair another."""
    rng = np.random.default_rng(0)
    names = ("observations", "next_observations", "initial_observations")
    columns = {name: getattr(log, name) for name in names}
    noise = {name: rng.standard_normal((len(values), 1)) for name, values in columns.items()}
    return replace(log, **{name: np.append(columns[name], noise[name], 1).astype(np.float32) for name in names})


@pytest.mark.training
def test_some_steps_of_a_long_log():
    """The truth, from a part of the log that is the member's own."""
    log = with_noise(Chain().log(400, seed=1))
    options = {"gamma": 0.9, "members": 3, "settings": {"fqe-trees": {"rows": 2000}}}
    found = ropeval.evaluate(log, Chain.policy(0.8), "fqe-trees", **options)
    assert found.extras["learned_from"] == {"steps": 2000, "of": len(log)}
    assert found.value == pytest.approx(Chain().values(0.8)[1], abs=0.06)
    assert len(set(found.members)) == 3


def limited(rows=300, members=2, checkpoint=None, resamples=True):
    lq = LinearQuadratic()
    log = lq.log(40, seed=2)
    problem = make_problem(log, lq.policy(0.5), 0.9, draws=2)
    resamples = Resamples(0, log.num_episodes) if resamples else None
    run = Run(member_keys(0, members), checkpoint=checkpoint, resamples=resamples, part="fqe-trees")
    return problem, FQETreesConfig(rows=rows, trees=10, iterations=4), run


@pytest.mark.training
def test_backups_of_steps_that_were_not_learned_from():
    """The shift leaves no mean error on the steps that were learned from, and those alone; q is one function."""
    problem, config, run = limited()
    found, (first, second) = ESTIMATORS["fqe-trees"](problem, config, run), samples(problem, config, run)
    for member, sample in enumerate((first, second)):
        values, backups = found.q.backup(sample.steps)
        assert (backups - values)[member].mean() == pytest.approx(0.0, abs=1e-4)
    values, backups = found.q.backup(np.arange(len(problem.dataset)))
    assert abs((backups - values)[0].mean()) > 1e-3
    np.testing.assert_array_equal(values[:, second.steps], found.q.backup(second.steps)[0])


@pytest.mark.training
def test_what_an_earlier_attempt_finished_is_the_same_q(tmp_path):
    problem, config, run = limited(checkpoint=Checkpoint(tmp_path, "one"))
    first, again = (ESTIMATORS["fqe-trees"](problem, config, run) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    rows = np.arange(0, len(problem.dataset), 7)
    np.testing.assert_array_equal(first.q.backup(rows), again.q.backup(rows))


@given(st.integers(1, 500), st.booleans())
@settings(max_examples=20)
def test_each_member_draws_from_its_own_log(rows, resampled):
    problem, config, run = limited(rows, members=3, resamples=resampled)
    size = len(problem.dataset)
    found = samples(problem, config, run)
    if rows >= size:
        assert [len(sample.steps) for sample in found] == [size] * (3 if resampled else 1)
        return
    counts = np.repeat(run.held(problem.dataset.num_episodes), np.diff(problem.dataset.starts), axis=1)  # [M, N]
    for sample, own in zip(found, counts, strict=True):
        assert len(sample.steps) == rows
        assert (np.bincount(sample.steps, minlength=size) <= own).all()  # none more often than its log holds it
    assert rows < 5 or len({tuple(sample.steps) for sample in found}) == 3
    again = samples(problem, config, run)
    assert all((one.steps == other.steps).all() for one, other in zip(found, again, strict=True))


def test_a_long_log_of_few_pairs_is_seen_whole(chain_log):
    problem = make_problem(chain_log, Chain.policy(0.8), 0.9)
    assert more_than(9, problem.answers.logged)
    assert not more_than(10, problem.answers.logged)
    (sample,) = samples(problem, FQETreesConfig(rows=10), Run(member_keys(0, 3), part="fqe-trees"))
    assert len(sample.steps) == len(chain_log)


@given(st.floats(-4.0, 0.9), st.floats(0.3, 0.99))
def test_a_shift_that_overshoots_settles(whole, none):
    """An error that is multiplied by `none` where nothing is added, and by `whole` < -1 or more where all is: it grows
    with the whole shift, and with as much of it as is taken it does not."""
    error, before, taken = 1.0, 0.0, 0.0
    for _ in range(60):
        share = share_of_shift(error, before, taken, ends=True)
        before, taken = error, share * error
        error *= none + share * (whole - none)
    assert abs(error) < 0.2


def test_how_much_of_a_shift_is_taken():
    assert share_of_shift(1.0, 0.0, 0.0, ends=True) == 1.0  # the first
    assert share_of_shift(-1.5, 1.0, 1.0, ends=True) == pytest.approx(0.4)
    assert share_of_shift(-1.5, 1.0, 1.0, ends=False) == 1.0  # a constant is what is missing
    assert share_of_shift(-0.2, 1.0, 1.0, ends=True) == 1.0
    assert share_of_shift(0.9, 1.0, 0.4, ends=True) == pytest.approx(0.4)
    assert share_of_shift(-9.0, 1.0, 0.5, ends=True) == LEAST_SHARE


@pytest.mark.training
def test_a_policy_that_ends_fewer_episodes_than_the_log_did():
    """In one state action 0 ends the episode and earns nothing; action 1, one in six, earns 1 and ends one in fifty."""
    rng, gamma, episodes = np.random.default_rng(0), 0.99, 600
    lengths, actions, ended = [], [], []
    for _ in range(episodes):
        taken = []
        while True:
            action = int(rng.random() < 5 / 6)
            taken.append(action)
            if rng.random() < (0.02 if action else 1.0):
                break
        lengths.append(len(taken))
        actions += taken
        ended += [False] * (len(taken) - 1) + [True]
    size = len(actions)
    log = Dataset.from_columns(
        {
            "observations": np.zeros((size, 1), np.float32),
            "actions": np.array(actions),
            "rewards": np.array(actions, np.float32),
            "terminations": np.array(ended),
            "truncations": np.zeros(size, bool),
        }
    )
    settings_ = {"fqe-trees": BY_HEART}
    found = ropeval.evaluate(
        log, lambda observations: np.ones(len(observations), np.int64), "fqe-trees", gamma=gamma, settings=settings_
    )
    goes_on = 1.0 - np.array(ended)[np.array(actions) == 1].mean()
    assert found.value == pytest.approx(1.0 / (1.0 - gamma * goes_on), rel=0.1)
