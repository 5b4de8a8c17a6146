"""Where training left off: found by the same run, and by no other."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.learning.checkpoint import Checkpoint, Snapshot

STATE = {"weights": jnp.arange(6.0).reshape(2, 3), "count": jnp.array([1, 2])}
SEEN = Snapshot(STATE, 20, {"loss": np.ones((2, 2), np.float32)}, np.array([-1, 10]))


def test_what_is_saved_comes_back(tmp_path):
    run = Checkpoint(tmp_path, "run")
    assert run.load("fqe", STATE) is None
    run.save("fqe", SEEN)
    found = run.load("fqe", STATE)
    for name, values in STATE.items():
        np.testing.assert_array_equal(found.state[name], values)
    assert found.step == 20
    np.testing.assert_array_equal(found.curves["loss"], SEEN.curves["loss"])
    np.testing.assert_array_equal(found.diverged_at, [-1, 10])


def test_another_runs_or_stages_checkpoint_is_not_used(tmp_path):
    run = Checkpoint(tmp_path, "run")
    run.save("fqe", SEEN)
    assert Checkpoint(tmp_path, "another run").load("fqe", STATE) is None
    assert run.load("rope", STATE) is None
    assert run.under("shared").load("fqe", STATE) is None


def test_a_checkpoint_knows_the_seconds_of_all_attempts(tmp_path):
    now = time.monotonic()
    Checkpoint(tmp_path, "run", now - 100).save("encoder", SEEN)
    (tmp_path / ".estimator.npz.x.npz").write_bytes(b"cut short")
    second = Checkpoint(tmp_path, "run", now - 30)
    second.save("estimator", SEEN)
    second.save("estimator", SEEN)  # its own seconds do not count again
    assert 130 <= second.seconds < 160
    assert 130 <= Checkpoint(tmp_path, "run").seconds < 160
    assert Checkpoint(tmp_path, "another run").seconds < 100


@pytest.mark.parametrize(
    "wanted",
    [
        {**STATE, "weights": jnp.zeros((3, 3))},  # another number of members
        {**STATE, "count": jnp.zeros(2)},  # another type
        {**STATE, "more": jnp.zeros(2)},
    ],
)
def test_one_that_does_not_fit_is_refused(tmp_path, wanted):
    run = Checkpoint(tmp_path, "run")
    run.save("fqe", SEEN)
    with pytest.raises(UserError, match=r"fqe\.npz: this checkpoint does not fit the run; delete it"):
        run.load("fqe", wanted)


def test_a_member_diverged_when_it_was_first_seen_so():
    step = lambda snapshot, at, diverged: snapshot.extended(None, at, {"loss": np.full(2, at)}, np.array(diverged))  # noqa: E731
    begun = Snapshot(None, 0, {}, np.array([-1, -1]))
    end = step(step(step(begun, 10, [False, False]), 20, [False, True]), 30, [True, False])
    assert end.diverged_at.tolist() == [30, 20]
    assert end.curves["loss"].tolist() == [[10, 10], [20, 20], [30, 30]]
