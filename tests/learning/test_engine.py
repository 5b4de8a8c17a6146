"""The training loop: bits that do not depend on chunks, members, arrangement or interruptions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS, fqe
from ropeval.learning import engine
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Learner, Run, keys_for, member_keys, train
from tests.learning.small import FQE, ROPE, lq_problem

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def problem():
    return lq_problem()


def estimates(problem, run, config=FQE):
    return ESTIMATORS["fqe"](problem, config, run).values


def test_same_key_same_bits(problem):
    a, b, c = (estimates(problem, Run(member_keys(seed, 3))) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert (a != c).all()
    assert len(set(a)) == 3


def test_a_member_alone_gives_what_it_gives_among_twenty(problem):
    keys = member_keys(0, 20)
    among = estimates(problem, Run(keys))
    for i in (0, 7, 19):
        np.testing.assert_array_equal(estimates(problem, Run(keys[i : i + 1])), among[i : i + 1])
    np.testing.assert_array_equal(estimates(problem, Run(member_keys(0, 2))), among[:2])


def test_the_chunk_length_does_not_matter(problem, monkeypatch):
    """Chunks of 10, and of 14 with 4 left over."""
    whole = estimates(problem, Run(member_keys(0, 2)))
    monkeypatch.setattr(engine, "CURVE_POINTS", 4)
    monkeypatch.setattr(engine, "MIN_CHUNK", 14)
    np.testing.assert_array_equal(estimates(problem, Run(member_keys(0, 2))), whole)


@pytest.mark.parametrize("method", ["fqe", "rope"])
def test_resuming_gives_the_same_bits(problem, tmp_path, method):
    """Interrupt at the fifth report, then go on, until it is done."""

    def fit(run):
        if method == "fqe":
            done = ESTIMATORS["fqe"](problem, FQE, run)
            return done.values, done.trained[0]
        encoded = ENCODERS["rope"](problem, ROPE, run)
        return np.asarray(encoded.transitions.rows.x), encoded.trained[0]

    expected, expected_curves = fit(Run(member_keys(0, 2)))
    checkpoint = Checkpoint(tmp_path, "this run")
    interruptions = 0
    while True:
        reports = 0

        def interrupt(stage, fraction):
            nonlocal reports
            reports += 1
            if reports == 5 and fraction < 1:
                raise KeyboardInterrupt

        try:
            values, curves = fit(Run(member_keys(0, 2), interrupt, checkpoint))
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions >= 2
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(curves.steps, expected_curves.steps)
    for name, curve in expected_curves.curves.items():
        np.testing.assert_array_equal(curves.curves[name], curve)


def test_a_diverging_member_is_marked_and_does_not_stop_the_others(problem):
    """Members count up by their own speed; one passes ten times the bound, one becomes infinite."""
    learner = Learner(
        init=lambda key, hyper: jnp.zeros(()),
        update=lambda state, batch, key, hyper: (state + hyper["speed"], {"loss": state}),
        probe=lambda state, transitions: {"estimate": state},
        rows=1,
    )
    hyper = {"speed": jnp.array([0.0, 1.0, jnp.inf, 0.1])}
    trained = train(learner, problem.transitions, hyper, 100, Run(member_keys(0, 4), part="count"), bound=5.0)
    assert list(trained.diverged_at) == [-1, 60, 10, -1]
    np.testing.assert_allclose(trained.state[:2], [0, 100])
    np.testing.assert_allclose(trained.curves["estimate"][-1, 3], 10, rtol=1e-3)


def test_learning_rates_are_per_member(problem):
    learner = fqe.make_learner(FQE, problem.transitions.dim, 0.9)
    keys = jnp.stack([member_keys(0, 1)[0]] * 2)
    trained = train(learner, problem.transitions, {"learning_rate": jnp.array([0.0, 1e-3])}, 50, Run(keys, part="fqe"))
    start = learner.init(jax.random.fold_in(keys[0], __import__("zlib").crc32(b"fqe")), {})
    still = jax.tree.map(lambda a: a[0], trained.state.params)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), still, start.params)
    moved = trained.state.params.head.weight
    assert float(jnp.abs(moved[1] - moved[0]).max()) > 1e-3


def test_progress_never_goes_back_and_ends_at_one(problem):
    seen = []
    estimates(problem, Run(member_keys(0, 3), report=lambda stage, fraction: seen.append(fraction)))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_keys_are_the_members_own_and_the_purposes_own():
    def numbers(keys):
        return np.asarray(jax.random.key_data(keys)).tolist()

    assert numbers(member_keys(7, 5))[:3] == numbers(member_keys(7, 3))
    assert numbers(keys_for("fqe", member_keys(7, 5)))[:3] == numbers(keys_for("fqe", member_keys(7, 3)))
    every = [
        *numbers(member_keys(7, 5)),
        *(k for name in ("fqe", "world") for k in numbers(keys_for(name, member_keys(7, 5)))),
    ]
    assert len(set(map(tuple, every))) == len(every)
    assert numbers(member_keys(2**40 + 7, 1)) == numbers(member_keys(7, 1))  # 32 bits of a seed count, as in JAX
