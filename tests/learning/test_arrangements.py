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
from ropeval.learning.arrangements import Vectorised, _chunk_of_all
from ropeval.learning.engine import Run, member_keys
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
    arrange.chunk(arrange.blank(), 0, 3, lambda share: None)
    state, _ = arrange.chunk(arrange.init(), 0, 3, lambda share: None)
    state, _ = arrange.chunk(state, 3, 3, lambda share: None)
    arrange.chunk(arrange.unstack(jax.tree.map(np.asarray, state)), 6, 3, lambda share: None)
    assert program._cache_size() == before + 1


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
