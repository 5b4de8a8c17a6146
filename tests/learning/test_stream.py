"""Logs larger than memory: gathered row by row from mapped files, to the same bits as in memory."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from ropeval.data import make_problem, open_columns, streaming, write_columns
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS, fqe, lspe
from ropeval.estimators.off_policy_returns import ReturnsConfig
from ropeval.learning import stream
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from ropeval.policies import CallablePolicy
from tests.learning.small import DRAWS, EPISODES, FQE, ROPE
from tests.problems import Chain, LinearQuadratic

RUN = Run(member_keys(0, 2))


@pytest.fixture
def small(monkeypatch):
    """Nothing is held in memory, and windows and pieces are so small that every log has many."""
    monkeypatch.setattr(streaming, "HELD_ON_CPU", 0)
    monkeypatch.setattr(streaming, "WINDOW", 256)
    monkeypatch.setattr(stream, "PIECE", 20_000)


def problems(task, policy, folder, request):
    """The same question twice: held in memory, and streamed from mapped columns."""
    log = task.log(EPISODES)
    held = make_problem(log, policy, 0.9, draws=DRAWS)
    assert not held.transitions.streamed  # asked while there is room
    write_columns(folder / "log", log)
    request.getfixturevalue("small")
    streamed = make_problem(open_columns(folder / "log"), policy, 0.9, draws=DRAWS)
    assert streamed.transitions.streamed
    return held, streamed


@pytest.fixture(params=["continuous", "discrete"])
def both(request, tmp_path):
    task = LinearQuadratic() if request.param == "continuous" else Chain()
    return problems(task, task.policy(0.5), tmp_path, request)


@pytest.fixture
def lq(request, tmp_path):
    return problems(LinearQuadratic(), LinearQuadratic().policy(0.5), tmp_path, request)


def test_the_features_are_the_same(both):
    held, streamed = (p.transitions for p in both)
    for name in ("x", "next_x"):
        made = getattr(streamed.rows, name)
        np.testing.assert_array_equal(made[:], getattr(held.rows, name))
        assert made.shape == getattr(held.rows, name).shape
        rows = np.random.default_rng(0).integers(held.size, size=50)
        np.testing.assert_array_equal(made[rows], getattr(held.rows, name)[rows])
    np.testing.assert_array_equal(streamed.initial_x[:], held.initial_x)
    np.testing.assert_array_equal(streamed.rows.discount, held.rows.discount)


@pytest.mark.training
def test_fqe_gives_the_same_bits(both):
    held, streamed = (fqe.fit_q(p, FQE, RUN.of("fqe")) for p in both)
    jax.tree.map(np.testing.assert_array_equal, held.trained.state, streamed.trained.state)
    for values in ("on_initial", "on_logged", "on_next"):
        np.testing.assert_array_equal(getattr(held, values)(), getattr(streamed, values)())
    np.testing.assert_allclose(held.trained.curves["estimate"], streamed.trained.curves["estimate"], rtol=1e-6)
    np.testing.assert_allclose(held.trained.curves["loss"], streamed.trained.curves["loss"], rtol=1e-6)


@pytest.mark.training
def test_resampled_episodes_give_the_same_bits(lq):
    run = replace(RUN, resamples=Resamples(3, EPISODES))
    held, streamed = (ESTIMATORS["fqe"](p, FQE, run).values for p in lq)
    np.testing.assert_array_equal(held, streamed)
    assert (held != ESTIMATORS["fqe"](lq[0], FQE, RUN).values).all()


@pytest.mark.training
def test_segments_of_resampled_episodes_give_the_same_bits_and_hold_in_a_batched_program(lq):
    run = replace(RUN, resamples=Resamples(3, EPISODES))
    config = ReturnsConfig(**FQE.model_dump() | {"segment": 3})
    held, streamed = (ESTIMATORS["q-lambda"](p, config, run).values for p in lq)
    np.testing.assert_array_equal(held, streamed)
    batched = ESTIMATORS["q-lambda"](lq[0], config, replace(run, arrangement="vectorised")).values
    np.testing.assert_allclose(batched, held, rtol=1e-4)


@pytest.mark.training
def test_rope_learns_the_same_encoder_and_fqe_agrees_on_it(lq):
    held, streamed = (ENCODERS["rope"](p, ROPE, RUN) for p in lq)
    jax.tree.map(np.testing.assert_array_equal, held.trained[0].state, streamed.trained[0].state)
    answers = [
        ESTIMATORS["fqe"](replace(p, features=e.transitions), FQE, RUN).values
        for p, e in zip(lq, (held, streamed), strict=True)
    ]
    # Encoding batch by batch multiplies matrices of another height, which may round the last bit differently.
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-4)


@pytest.mark.parametrize("encoder", ["bcrl", "random-metric", "mico"])
@pytest.mark.training
def test_other_encoders_stream_too(lq, encoder):
    entry = ENCODERS[encoder]
    config = entry.config.model_validate({"width": 16, "depth": 1, "batch": 32, "steps": 20})
    held, streamed = (entry(p, config, RUN) for p in lq)
    for part in (slice(0, 50), slice(550, 600)):
        for a, b in zip(held.transitions.block(part, 1)[:4], streamed.transitions.block(part, 1)[:4], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


class Knowing(CallablePolicy):
    """A policy with an action-value network, for `critic` to look into."""

    def features(self, observations, actions):
        code = np.asarray(actions, np.float32).reshape(len(observations), -1)
        return np.concatenate([np.tanh(observations), 3.0 * code], axis=1)


@pytest.mark.parametrize("task", [LinearQuadratic(), Chain()], ids=["continuous", "discrete"])
@pytest.mark.training
def test_the_critics_features_go_to_a_scratch_file(task, tmp_path, request):
    policy = task.policy(0.5)
    policy = Knowing(policy._function, policy.deterministic, policy.name, policy._log_prob)
    held, streamed = problems(task, policy, tmp_path, request)
    run = RUN.of("critic")
    stored = ENCODERS["critic"](streamed, ENCODERS["critic"].config(), run).transitions
    request.getfixturevalue("monkeypatch").setattr(streaming, "HELD_ON_CPU", 2 << 30)
    kept = ENCODERS["critic"](held, ENCODERS["critic"].config(), run).transitions
    assert stored.dim == kept.dim
    rows = np.random.default_rng(0).integers(held.dataset.num_episodes, size=40)
    for a, b in zip(stored.block(rows), kept.block(rows), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(stored.initial_block(), kept.initial_block())
    answers = [ESTIMATORS["fqe"](replace(held, features=t), FQE, RUN).values for t in (stored, kept)]
    np.testing.assert_array_equal(*answers)


@pytest.mark.training
def test_features_too_large_to_store_are_made_per_batch(lq, monkeypatch):
    """The log fits, but not the features of all members: encoders are applied inside the compiled program."""
    held = lq[0]
    stored = ENCODERS["rope"](held, ROPE, RUN)
    monkeypatch.setattr(streaming, "HELD_ON_CPU", 2 << 30)
    kept = ENCODERS["rope"](held, ROPE, RUN)
    assert stored.transitions.nets is not None  # the fixture leaves no room
    assert kept.transitions.nets is None
    assert stored.transitions.dim == kept.transitions.dim
    for arrangement in ("threads", "vectorised"):
        run = replace(RUN, arrangement=arrangement)
        a, b = (ESTIMATORS["fqe"](replace(held, features=e.transitions), FQE, run) for e in (stored, kept))
        np.testing.assert_allclose(a.values, b.values, rtol=1e-4)
        np.testing.assert_allclose(a.trained[0].curves["estimate"], b.trained[0].curves["estimate"], rtol=1e-3)


@pytest.mark.training
def test_least_squares_reads_blocks(lq):
    config = lspe.LSPEConfig()
    held, streamed = (ESTIMATORS["lspe"](p, config, RUN).values for p in lq)
    np.testing.assert_array_equal(held, streamed)
    encoded = [replace(p, features=ENCODERS["rope"](p, ROPE, RUN).transitions) for p in lq]
    held, streamed = (ESTIMATORS["lspe"](p, config, RUN).values for p in encoded)
    assert held.shape == (2,)
    np.testing.assert_allclose(held, streamed, rtol=1e-3)


@pytest.mark.training
def test_an_interrupted_streamed_run_resumes_to_the_same_bits(lq, tmp_path):
    streamed = lq[1]
    expected = ESTIMATORS["fqe"](streamed, FQE, RUN).values
    reports = 0

    def interrupt(stage, fraction):
        nonlocal reports
        reports += 1
        if reports == 5:
            raise KeyboardInterrupt

    run = Run(member_keys(0, 2), interrupt, Checkpoint(tmp_path / "checkpoint", "run"))
    with pytest.raises(KeyboardInterrupt):
        ESTIMATORS["fqe"](streamed, FQE, run)
    resumed = ESTIMATORS["fqe"](streamed, FQE, replace(run, report=None))
    np.testing.assert_array_equal(resumed.values, expected)
