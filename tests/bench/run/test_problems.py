"""One log, and a problem for each judged policy, made when it is asked for."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.bench.data.task_data import Judged, load_task
from ropeval.bench.run import problems as module
from ropeval.bench.run.problems import Problems
from ropeval.errors import UserError
from tests.bench.run.toy_study import STUDY, TASK


@pytest.fixture
def task(data):
    task = load_task(TASK, data)
    known = task.judged["evaluated"]
    return replace(task, judged={name: Judged(known.policy, known.truth, "dev") for name in ("a", "b", "c")})


def test_a_problem_that_fits_is_made_once(task):
    problems = Problems(STUDY, task)
    assert problems.policies == ("a", "b", "c")
    assert problems["b"] is problems["b"]
    assert problems.first is problems["a"]
    assert problems["a"].gamma == 0.5


def test_what_does_not_fit_is_made_again_and_is_the_same(task, monkeypatch):
    monkeypatch.setattr(module, "KEPT_BYTES", 1)
    problems = Problems(STUDY, task)
    assert problems["a"] is problems["a"]  # one is always kept
    assert problems["b"] is not problems["b"]
    np.testing.assert_array_equal(problems["b"].transitions.rows.next_x, problems["b"].transitions.rows.next_x)


def test_a_split_without_policies_is_refused(task):
    with pytest.raises(UserError, match="none of its policies is in the split test"):
        Problems(STUDY.model_copy(update={"split": "test"}), task)


def test_seconds_in_which_something_was_made_count_once(task):
    """One thing is made inside another one, and a third by a thread of its own at the same time."""
    log = Problems(STUDY, task).log
    log.made[:] = [(2.0, 3.0), (1.0, 4.0), (3.5, 5.0), (7.0, 8.0)]
    assert log.seconds_since(0.0) == 5.0
    assert log.seconds_since(4.5) == 1.5
    assert log.seconds_since(9.0) == 0.0
