"""What is made once per log: members that are left out, and what is compiled early."""

from contextlib import suppress
from dataclasses import replace

import jax
import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.estimators import ESTIMATORS
from ropeval.estimators.world import WorldConfig
from ropeval.policies import UniformPolicy
from tests.estimators.world.logs import QUICK, resampled, simulator_of
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log

pytestmark = pytest.mark.training


def test_a_broken_member_has_no_say():
    """One member's learning rate is absurd. What is left is what the other one would have said alone."""
    log = tiny_log("continuous")
    run = resampled(log)
    broken = simulator_of(log, run=replace(run, settings={"world.learning_rate": [1e-3, 1e30]}))
    alone = simulator_of(log, run=resampled(log, members=1))
    np.testing.assert_array_equal(broken.good, [True, False])
    np.testing.assert_array_equal(broken.simulator.weights, [1.0, 0.0])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(broken.simulator))
    np.testing.assert_allclose(broken.simulator.noise.residuals[-1], alone.simulator.noise.residuals[-1], atol=1e-3)
    np.testing.assert_array_equal(broken.simulator.usual, alone.simulator.usual)
    np.testing.assert_allclose(broken.replays[0], alone.replays[0], rtol=1e-3)  # one step, before noise plays a part


def test_all_members_broken_is_no_traceback():
    log = tiny_log("continuous")
    world = simulator_of(log, run=replace(resampled(log), settings={"world.learning_rate": [1e30, 1e30]}))
    assert not world.good.any()
    assert world.sizes.steps == QUICK["steps"]


@pytest.mark.parametrize(("log", "noisy"), [(LinearQuadratic().log(40), True), (Chain().log(40), False)])
def test_what_was_rehearsed_is_not_compiled_again(log, noisy):
    """As on an accelerator, where all members are one program; the rehearsals are done before training begins. Where
    nothing is noisy, the first of them, for which nothing is trained, has the rollouts' program already."""
    compiled: list[str] = []
    rehearsed: list[list[str]] = []
    alone = replace(resampled(log), arrangement="vectorised")
    config = WorldConfig(**QUICK | {"width": 9}, max_horizon=40)  # another shape than in other tests

    def heard(event, seconds, **about):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(about["fun_name"])

    def aside(work):
        with suppress(Exception):  # it ends where all has been compiled
            work(lambda stage, share: None)
        rehearsed.append(compiled.copy())
        compiled.clear()

    def ask(run):
        problem = make_problem(log, UniformPolicy().fitted(log.space), 0.9)
        return ESTIMATORS["world"](problem, config, run)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        found = ask(replace(alone, aside=aside))
        at_once, early = rehearsed
        assert {name for name in compiled if name.startswith("jit(_")} == set()
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
    for name in ("_all_members", "_compare", "_replay"):
        assert f"jit({name})" in early
    for name in ("_changes", "log_values", "_compiled_chunk"):
        assert f"jit({name})" in at_once
    # Of a horizon of 41 steps: one program for both chunks.
    assert [found.count("jit(_compiled_chunk)") for found in (at_once, early)] == [1, int(noisy)]
    unrehearsed = ask(alone)
    np.testing.assert_array_equal(found.values, unrehearsed.values)
    assert found.value == unrehearsed.value
