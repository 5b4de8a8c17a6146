"""Members side by side: in threads, in one program, and over several devices."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS, fqe
from ropeval.learning import arrangements
from ropeval.learning.arrangements import Threads, Vectorised, _chunk_of_all
from ropeval.learning.engine import Run, member_keys, train
from tests.learning.small import FQE, ROPE, lq_problem

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def problem():
    return lq_problem()


@pytest.mark.parametrize("method", ["fqe", "rope"])
def test_vectorised_members_agree_with_threads(problem, method):
    def final(arrangement):
        run = Run(member_keys(0, 2), arrangement=arrangement)
        if method == "fqe":
            return ESTIMATORS["fqe"](problem, FQE, run).values
        encoded = ENCODERS["rope"](problem, ROPE, run).transitions
        q = ESTIMATORS["fqe"](replace(problem, features=encoded), FQE, run).values
        return np.concatenate([np.asarray(encoded.rows.x).mean(axis=(1, 2)), q])

    np.testing.assert_allclose(final("threads"), final("vectorised"), rtol=2e-3, atol=2e-3)


def test_one_program_serves_all_states(problem):
    """Blank ones to compile with, first ones, those that a chunk gives, and those of a checkpoint."""
    hyper = {"learning_rate": np.full(2, 1e-3, np.float32)}
    learner = fqe.make_learner(FQE.model_copy(update={"width": 5}), problem.transitions.dim, 0.9)
    arrange = Vectorised(learner, problem.transitions, hyper, member_keys(0, 2), None)
    program: Any = _chunk_of_all
    before = program._cache_size()
    arrange.chunks(arrange.blank(), 0, 3, lambda share: None)
    state, _ = arrange.chunks(arrange.init(), 0, 3, lambda share: None)
    state, _ = arrange.chunks(state, 3, 3, lambda share: None)
    arrange.chunks(arrange.unstack([jax.tree.map(np.asarray, state)]), 6, 3, lambda share: None)
    assert program._cache_size() == before + 1


@pytest.mark.parametrize(
    ("members", "count", "in_a_row"), [(5, 2, 2), (5, 4, 4), (6, 4, 2), (4, 2, 1), (2, 4, 1), (1, 2, 1), (97, 64, 8)]
)
def test_members_meet_where_no_core_would_wait(problem, monkeypatch, members, count, in_a_row):
    monkeypatch.setattr(arrangements, "cores", lambda: count)
    hyper = {"learning_rate": np.full(members, 1e-3, np.float32)}
    learner = fqe.make_learner(FQE, problem.transitions.dim, 0.9)
    assert Threads(learner, problem.transitions, hyper, member_keys(0, members), None).in_a_row == in_a_row


def test_it_does_not_matter_where_members_meet(problem, monkeypatch):
    """Eleven chunks of three members: after every two, and after each one."""
    learner = fqe.make_learner(FQE, problem.transitions.dim, 0.9)
    hyper = {"learning_rate": np.full(3, 1e-3, np.float32)}
    monkeypatch.setattr(arrangements, "cores", lambda: 2)
    found = []
    for most in (8, 1):
        monkeypatch.setattr(arrangements, "MOST_IN_A_ROW", most)
        told: list[float] = []

        def report(stage: str, share: float, told: list[float] = told) -> None:
            told.append(share)

        run = Run(member_keys(0, 3), report, part="fqe")
        found.append(train(learner, problem.transitions, hyper, 105, run))
        assert told == sorted(told)
        assert len(told) == 3 * 11 + 1
    together, apart = found
    jax.tree.map(np.testing.assert_array_equal, together.state, apart.state)
    np.testing.assert_array_equal(together.steps, [*range(10, 101, 10), 105])
    for name, curve in apart.curves.items():
        np.testing.assert_array_equal(together.curves[name], curve)
    assert len({float(loss) for loss in apart.curves["loss"].ravel()}) == 33  # every chunk has a number of its own


@pytest.mark.process
def test_members_are_sharded_over_devices(problem):
    """Four pretended devices, in a process of its own since JAX counts them once."""
    program = """
import json, jax, numpy as np
from ropeval.estimators import fqe
from ropeval.learning.engine import Run, member_keys
from tests.learning.small import FQE, lq_problem

fitted = fqe.fit_q(lq_problem(), FQE, Run(member_keys(0, 6), arrangement="vectorised", part="fqe"))
devices = len(fitted.trained.state.params.head.weight.sharding.device_set)
values = fitted.on_initial().mean(-1).tolist()
print(json.dumps([jax.device_count(), devices, values]))
"""
    flags = "--xla_force_host_platform_device_count=4"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XLA_FLAGS": flags},
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    present, used, values = json.loads(done.stdout.splitlines()[-1])
    assert (present, used) == (4, 3)  # six members divide evenly over three of the four
    np.testing.assert_allclose(values, ESTIMATORS["fqe"](problem, FQE, Run(member_keys(0, 6))).values, rtol=2e-3)
