"""Resampled logs: their tables draw what a copy of the episodes would, the same for every policy and method."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.estimators import ESTIMATORS
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples, alias_table, row_table
from tests.learning.small import EPISODES, FQE, lq_problem
from tests.problems import Chain, LinearQuadratic


@pytest.mark.parametrize("seed", range(5))
def test_the_alias_table_holds_exactly_the_weights(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 5, size=40) * rng.integers(0, 30, size=40)
    keep, other = alias_table(weights)
    share = keep.copy()
    np.add.at(share, other, 1.0 - keep)
    np.testing.assert_allclose(share / 40, weights / weights.sum(), atol=1e-12)


@pytest.mark.parametrize("weights", [[1], [3, 3, 3], [0, 0, 7], [1, 0, 0, 0], [2, 1]])
def test_alias_tables_at_the_edges(weights):
    keep, other = alias_table(np.array(weights))
    share = keep.copy()
    np.add.at(share, other, 1.0 - keep)
    np.testing.assert_allclose(share / len(weights), np.array(weights) / sum(weights), atol=1e-12)


def test_rows_are_drawn_as_often_as_the_resample_holds_them():
    """By counting: chi-squared below its 0.999 quantile, and never a row of an episode that is not held."""
    starts = np.array([0, 3, 3, 10, 11, 15])  # one episode holds no row
    counts = np.array([[2, 1, 0, 1, 1]])
    table = row_table(counts, starts).of(0)
    drawn = np.asarray(table.draw(40_000, jax.random.key(0)))
    seen = np.bincount(drawn, minlength=15)
    expected = np.repeat(counts[0], np.diff(starts)) * 40_000 / 11
    assert seen[expected == 0].sum() == 0
    some = expected > 0
    assert ((seen[some] - expected[some]) ** 2 / expected[some]).sum() < 26.1  # 8 degrees of freedom


def test_a_resample_without_rows_falls_back_to_the_log():
    table = row_table(np.array([[0, 2]]), np.array([0, 4, 4])).of(0)
    assert set(np.asarray(table.draw(100, jax.random.key(0)))) == {0, 1, 2, 3}


def test_resamples_depend_on_seed_and_number_only():
    a, b = Resamples(3, 20), Resamples(4, 20)
    np.testing.assert_array_equal(a.counts(0, 5)[2:4], a.counts(2, 2))
    assert (a.counts(0, 1) != b.counts(0, 1)).any()
    np.testing.assert_array_equal(a.counts(0, 6).sum(axis=1), np.full(6, 20))


def repeated(data: Dataset, counts: np.ndarray) -> Dataset:
    """The log that the counts stand for, written out."""
    rows = np.concatenate(
        [np.arange(data.starts[e], data.starts[e + 1]) for e in np.repeat(range(len(counts)), counts)]
    )
    lengths = np.diff(data.starts)[np.repeat(range(len(counts)), counts)]
    columns = {n: getattr(data, n)[rows] for n in ("observations", "actions", "rewards", "terminations",
                                                   "truncations", "next_observations", "log_probs")}  # fmt: skip
    return Dataset.from_columns(columns | {"episode_ids": np.repeat(np.arange(len(lengths)), lengths)})


@pytest.mark.parametrize("method", ["mean-reward", "mean-return", "is", "wis", "pdis", "wpdis", "lspe"])
def test_exact_estimates_are_those_of_the_log_written_out(method):
    """Replicate b is what the method says of a log that holds the episodes so often."""
    chain = Chain(size=3, gamma=0.8)
    data, policy = chain.log(12, length=9, log_probs=True), chain.policy(0.7)
    resamples, entry = Resamples(5, 12), ESTIMATORS[method]
    problem = make_problem(data, policy, 0.8, draws=400)
    found = entry(problem, entry.config(), Run(member_keys(0, 1), resamples=resamples))
    for b in (0, 3):
        copy = make_problem(repeated(data, resamples.counts(b, 1)[0]), policy, 0.8, draws=400)
        (expected,) = entry(copy, entry.config(), Run(member_keys(0, 1))).values
        # lspe sees other draws of the policy's actions in the copy, and many of them
        assert found.replicates[b] == pytest.approx(expected, rel=0.05 if method == "lspe" else 1e-5)
    (whole,) = entry(problem, entry.config(), Run(member_keys(0, 1))).values
    assert found.values[0] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("arrangement", ["threads", "vectorised"])
@pytest.mark.training
def test_training_sees_the_members_own_episodes_only(arrangement):
    """Episode e pays e for ever. A member that holds one episode alone must answer with that episode's worth."""
    lq = LinearQuadratic()
    data = lq.log(4, length=20)
    episode = np.repeat(np.arange(4), 20)
    data = replace(data, rewards=episode.astype(np.float32))
    problem = make_problem(data, lq.policy(0.0), 0.5)

    class One(Resamples):
        def counts(self, first, count):
            return np.eye(4, dtype=np.int64)[first : first + count] * 4

    config = FQE.model_copy(update={"steps": 500, "learning_rate": 3e-3, "tau": 0.1})
    run = Run(member_keys(0, 4), arrangement=arrangement, resamples=One(0, 4))
    np.testing.assert_allclose(ESTIMATORS["fqe"](problem, config, run).values, np.arange(4) / 0.5, atol=0.35)


@pytest.mark.training
def test_arrangements_agree_on_resamples():
    problem, resamples = lq_problem(), Resamples(0, EPISODES)
    runs = [Run(member_keys(0, 2), arrangement=a, resamples=resamples) for a in ("threads", "vectorised")]
    one, two = (ESTIMATORS["fqe"](problem, FQE, run).values for run in runs)
    np.testing.assert_allclose(one, two, rtol=2e-3, atol=2e-3)
    assert (one != ESTIMATORS["fqe"](problem, FQE, Run(member_keys(0, 2))).values).all()
