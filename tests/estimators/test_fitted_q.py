"""What is read out of a q, against the same networks asked pair by pair; nothing is trained."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators.estimator import Backups
from ropeval.estimators.fitted_q import FittedQ
from ropeval.estimators.fqe import timed_value, value_function
from ropeval.learning.engine import Trained, member_keys
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned
from tests.problems import Chain

HORIZON = 3


@pytest.fixture(scope="module")
def fitted():
    problem = make_problem(Chain().log(5, length=6), Chain.policy(0.8), 0.9, draws=2, horizon=HORIZON)
    nets = jax.vmap(lambda key: MLP(key, problem.transitions.dim + 1, 1, 4, 1))(member_keys(0, 2))
    trained = Trained("fqe", Learned(nets, nets, None), np.zeros(0, int), {}, np.full(2, -1))
    return FittedQ(trained, problem.transitions, value_function(0.9, HORIZON), 2.0, Backups(1, 0.5), HORIZON)


def asked(fitted, member, pairs, left):
    net = jax.tree.map(lambda a: a[member], fitted.trained.state.target)
    return 2.0 * np.asarray(timed_value(net, pairs, jnp.int32(left), 0.9, HORIZON))


def test_a_step_counts_with_what_is_left_at_its_time(fitted):
    rows, starts = fitted.transitions.rows, np.asarray(fitted.transitions.starts)
    logged, following = fitted.on_logged(), fitted.on_next()
    assert fitted.members == len(logged) == 2
    for member in range(2):
        for row in range(int(starts[1])):
            if row < HORIZON:
                assert logged[member, row] == pytest.approx(asked(fitted, member, rows.x[row], HORIZON - row), rel=1e-5)
                expected = asked(fitted, member, rows.next_x[row], HORIZON - row - 1).mean()
                assert following[member, row] == pytest.approx(expected, rel=1e-5, abs=1e-6)
            else:
                assert logged[member, row] == following[member, row] == 0.0


def test_the_backup_takes_every_step_for_the_first(fitted):
    rows = np.array([1, 4])
    values, backups = fitted.backup(rows)
    data = fitted.transitions.rows
    for place, row in enumerate(rows):
        assert values[0, place] == pytest.approx(asked(fitted, 0, data.x[row], HORIZON), rel=1e-5)
        beyond = float(data.discount[row]) * asked(fitted, 0, data.next_x[row], HORIZON - 1).mean()
        assert backups[0, place] == pytest.approx(float(data.reward[row]) + beyond, rel=1e-5, abs=1e-6)
