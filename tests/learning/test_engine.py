"""The training loop: bits that do not depend on chunks, members, arrangement or interruptions."""

from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Log
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS, fqe
from ropeval.learning import arrangements, engine
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.company import in_company
from ropeval.learning.engine import Learner, Run, keys_for, member_keys, train
from ropeval.learning.resample import Resamples
from tests.learning.small import DRAWS, EPISODES, FQE, ROPE, lq_problem
from tests.problems import LinearQuadratic

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


@pytest.mark.parametrize("arrangement", ["vectorised", "threads"])
def test_what_trains_for_long_has_a_program_of_its_own(problem, monkeypatch, arrangement):
    """Another program on a GPU alone: on a CPU the same bits."""
    run = Run(member_keys(0, 2), arrangement=arrangement)
    short = estimates(problem, run)
    searched = Mock(wraps=arrangements._long_chunk_of_all)
    monkeypatch.setattr(arrangements, "_long_chunk_of_all", searched)
    monkeypatch.setattr(engine, "LONG", FQE.steps + 1)
    estimates(problem, run)
    assert not searched.called
    monkeypatch.setattr(engine, "LONG", FQE.steps)
    np.testing.assert_array_equal(estimates(problem, run), short)
    assert searched.called == (arrangement == "vectorised")


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


class TestSeveralPoliciesTogether:
    """In one program where it is the same one, as on an accelerator; each comes to what it comes to alone."""

    @pytest.fixture
    def problems(self):
        lq = LinearQuadratic()
        log = Log(lq.log(EPISODES), 0.9)
        return [log.problem(lq.policy(gain), draws=DRAWS) for gain in (0.3, 0.5, 0.7)]

    @staticmethod
    def fitted(problems, method, run):
        """Every problem in a thread of its own, with its own run."""

        def one(place, seat):
            own = replace(run(place), arrangement="vectorised", seat=seat)
            problem = problems[place]
            if method == "rope":
                problem = replace(problem, features=ENCODERS["rope"](problem, ROPE, own).transitions)
            return ESTIMATORS["fqe"](problem, FQE, own)

        return in_company([partial(one, place) for place in range(len(problems))])

    @pytest.mark.parametrize("method", ["fqe", "rope"])
    def test_they_agree_with_each_alone(self, problems, method):
        def run(place):
            return Run(member_keys(0, 2), resamples=Resamples(0, EPISODES))

        joined = self.fitted(problems, method, run)
        for problem, found in zip(problems, joined, strict=True):
            (alone,) = self.fitted([problem], method, run)
            np.testing.assert_allclose(found.values, alone.values, rtol=2e-3, atol=2e-3)
            np.testing.assert_allclose(
                found.trained[0].curves["loss"], alone.trained[0].curves["loss"], rtol=5e-2, atol=1e-4
            )
        assert len({value for found in joined for value in found.values}) == 6

    @pytest.mark.parametrize("long", [False, True])
    def test_they_are_one_program_and_share_the_log(self, problems, monkeypatch, long):
        name = "_long_chunk_of_runs" if long else "_chunk_of_runs"
        program = Mock(wraps=getattr(arrangements, name))
        monkeypatch.setattr(arrangements, name, program)
        monkeypatch.setattr(engine, "LONG", FQE.steps if long else FQE.steps + 1)
        self.fitted(problems, "fqe", lambda place: Run(member_keys(0, 2)))
        _, length, _, _, keys, *_, (transitions, _) = program.call_args.args
        assert program.call_count * length == FQE.steps
        assert keys.shape == (3, 2)
        assert transitions.rows.x is problems[0].transitions.rows.x
        assert transitions.rows.next_x.shape[0] == 3

    def test_one_with_other_draws_trains_by_itself(self, problems):
        others = [*problems[:2], problems[0].log.problem(LinearQuadratic().policy(0.7), draws=5)]
        found = self.fitted(others, "fqe", lambda place: Run(member_keys(0, 2)))
        for problem, one in zip(others, found, strict=True):
            (alone,) = self.fitted([problem], "fqe", lambda place: Run(member_keys(0, 2)))
            np.testing.assert_allclose(one.values, alone.values, rtol=2e-3, atol=2e-3)

    def test_where_one_is_further_than_the_others_all_begin_anew(self, problems, tmp_path):
        """As when a kill came between two checkpoints: on its own it would round otherwise."""
        halfway = FQE.model_copy(update={"steps": 30})
        checkpoints = [Checkpoint(tmp_path / str(place), "x") for place in range(3)]
        ESTIMATORS["fqe"](problems[0], halfway, Run(member_keys(0, 2), checkpoint=checkpoints[0]))
        whole = self.fitted(problems, "fqe", lambda place: Run(member_keys(0, 2)))
        found = self.fitted(problems, "fqe", lambda place: Run(member_keys(0, 2), checkpoint=checkpoints[place]))
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_array_equal(one.values, other.values)

    def test_interrupted_together_they_go_on_to_the_same_bits(self, problems, tmp_path):
        def run(place, report=None):
            return Run(member_keys(0, 2), report, checkpoint=Checkpoint(tmp_path / str(place), "x"))

        def stop(stage, fraction):
            if fraction >= 0.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.fitted(problems, "fqe", lambda place: run(place, stop))
        assert len(list(tmp_path.glob("*/fqe.npz"))) == 3
        whole = self.fitted(problems, "fqe", lambda place: Run(member_keys(0, 2)))
        for one, other in zip(self.fitted(problems, "fqe", run), whole, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
