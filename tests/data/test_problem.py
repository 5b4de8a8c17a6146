"""A policy is asked when a method looks at its actions, and not before."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

from ropeval.data import Log, make_problem
from ropeval.data.problem import STD_FLOOR, normaliser
from ropeval.evaluation import coverage
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options
from ropeval.policies import CallablePolicy
from tests.problems import Chain, LinearQuadratic

LOG = LinearQuadratic().log(8, length=300)


@pytest.fixture
def counted():
    """A problem, and a list of how many states its policy was asked about at a time."""
    asked: list[int] = []

    def act(observations):
        asked.append(len(observations))
        return observations @ LinearQuadratic.K.T

    return make_problem(LOG, CallablePolicy(act, deterministic=True, name="linear"), 0.9), asked


def test_nothing_is_asked_before_it_is_needed_and_nothing_twice(counted):
    problem, asked = counted
    assert problem.answers.count == 1
    assert asked == []
    first = problem.transitions
    assert sum(asked) == len(LOG) + LOG.num_episodes
    assert problem.transitions is first
    np.testing.assert_allclose(first.rows.next_x[:, 0, 2:], LOG.next_observations @ LinearQuadratic.K.T, rtol=1e-5)
    assert sum(asked) == len(LOG) + LOG.num_episodes


def test_a_method_that_ignores_next_actions_does_not_wait_for_them(counted, tmp_path):
    """Neither do the picture of what the log covers, which takes some of the states, nor the checkpoints."""
    problem, asked = counted
    covered = coverage.measure(problem)
    answer(problem, make_method("mean-return"), Options(members=1), covered=covered, checkpoints=tmp_path)
    assert sum(asked) == coverage.ASKED + LOG.num_episodes
    assert covered.outside < 0.5


@pytest.mark.training
def test_rollouts_do_not_wait_for_them_either(counted):
    problem, _ = counted
    small = {"steps": 60, "width": 8, "depth": 1, "batch": 16, "rollouts": 16, "max_horizon": 2}
    found = answer(problem, make_method("world", {"world": small}), Options(members=2))
    assert found.value is not None
    assert not {"following", "transitions"} & set(vars(problem.answers))


def test_of_several_threads_one_makes_what_all_share():
    log, made, together = Log(Chain().log(5), 0.9), list[int](), Barrier(4)

    def make() -> int:
        made.append(1)
        time.sleep(0.05)
        return len(made)

    def ask(_: int) -> int:
        together.wait()
        return log.once("key", make)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [1, 1, 1, 1]
    assert made == [1]


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6])
def test_the_unit_of_a_column_does_not_matter(unit):
    """Rewards of millionths are as good as those of millions; what does not change but for rounding stays floored."""
    values = np.random.default_rng(0).standard_normal((1000, 1))
    mean, std = normaliser((unit * (values + 3.0)).astype(np.float32))
    assert mean[0] == pytest.approx(unit * (values.mean() + 3.0), rel=1e-5)
    assert std[0] == pytest.approx(unit * values.std(), rel=1e-5)
    constant = np.full((1000, 2), [unit, 0.0], np.float32)
    np.testing.assert_allclose(normaliser(constant)[1], [STD_FLOOR * min(1.0, unit), STD_FLOOR], rtol=1e-5)


def doses(*columns):
    """The log with these actions."""
    return replace(LOG, actions=np.stack(columns, axis=1).astype(np.float32))


def test_actions_of_a_size_that_networks_do_not_learn_from_are_standardised():
    """In milligrams, in kilograms, around a thousand, and one that is always given; the usual ones stay as they are."""
    share = np.random.default_rng(0).random(len(LOG))
    log = Log(doses(share, 500 * share, 1e-7 * share, 1000 + share, 300 + 0 * share), 0.9)
    seen = log.pairs(None)[:][:, 2:]
    np.testing.assert_array_equal(seen[:, 0], share.astype(np.float32))
    np.testing.assert_allclose(seen[:, 1:].mean(axis=0), 0.0, atol=1e-3)
    np.testing.assert_allclose(seen[:, 1:].std(axis=0), [1.0, 1.0, 1.0, 0.0], rtol=1e-3)
    assert Log(doses(share, 2.0 - share), 0.9).action_units is None
    assert Log(log.given, 0.9, "paper").action_units is None


def test_in_whatever_unit_doses_are_given_the_same_is_learned_from():
    share = np.random.default_rng(0).random(len(LOG))

    def learned_from(unit):
        policy = CallablePolicy(lambda o: unit * np.abs(np.sin(o[:, :1])), deterministic=True)
        found = make_problem(doses(unit * share), policy, 0.9).transitions
        return [np.asarray(part) for part in (found.rows.x, found.rows.next_x, found.initial_x)]

    for large, small in zip(learned_from(1000.0), learned_from(0.001), strict=True):
        np.testing.assert_allclose(large, small, rtol=1e-4, atol=1e-5)
