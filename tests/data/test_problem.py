"""A policy is asked when a method looks at its actions, and not before."""

import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.evaluation import coverage
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options
from ropeval.policies import CallablePolicy
from tests.problems import LinearQuadratic

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
