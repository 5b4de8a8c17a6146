"""One run's questions: what makes it this run, and what is refused before anything is computed."""

import threading
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import jax
import pytest

from ropeval.errors import UserError
from ropeval.evaluation.options import Options, make_options
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import ABREAST, Session, rankings, run_session
from ropeval.learning import arrangements
from ropeval.learning.arrangements import Vectorised
from ropeval.policies import CallablePolicy, UniformPolicy
from tests.estimators.world.logs import QUICK
from tests.problems import Chain

TRIVIAL = ("mean-reward", "mean-return")


def make_session(**given: object) -> Session:
    chain = Chain()
    return Session(chain.log(20), [chain.policy(0.6)], make_options({"method": TRIVIAL, **given}))


def test_every_option_that_changes_the_answer_makes_another_run():
    """An option that is added is recorded without further words."""
    other = {
        "gamma": 0.5, "method": ("mean-reward",), "members": 3, "tune": True, "draws": 3, "seed": 1, "resample": False,
        "interval": "bca", "level": 0.9, "horizon": 3, "numbers": "quantity",
    }  # fmt: skip
    same = {"steps": 7, "preset": "paper", "minutes": 3.0}  # nothing is trained: they change no method
    prints = {name: make_session(**{name: value}).fingerprint for name, value in (other | same).items()}
    spread = {"risk": 0.1, "below": -1.0}  # which only some methods tell
    of_world = [make_session(method=("world",), **{k: v}).fingerprint for k, v in (spread | {"seed": 0}).items()]
    assert len(set(of_world)) == len(of_world)
    assert set(other) | set(same) | set(spread) | {"settings", "columns", "by"} == set(Options.model_fields)
    usual = make_session().fingerprint
    assert {name for name in prints if prints[name] != usual} == set(other)
    assert len({prints[name] for name in other}) == len(other)


def test_settings_are_recorded_with_the_methods():
    learned = {"method": "fqe", "settings": {"fqe": {"width": 8}}}
    assert make_session(**learned).about()["methods"]["fqe"]["fqe"]["width"] == 8
    assert make_session(**learned, steps=7).methods[0].describe()["fqe"]["steps"] == 7
    explicit = {"method": "fqe", "settings": {"fqe": {"steps": 9}}}
    assert make_session(**explicit, steps=7).methods[0].describe()["fqe"]["steps"] == 9


def test_a_part_of_one_of_the_methods_may_be_set():
    asked = make_session(method=("mean-reward", "rope+fqe"), settings={"rope": {"beta": 3.0}})
    assert asked.methods[1].describe()["rope"]["beta"] == 3.0
    with pytest.raises(UserError, match=r"setting rope\.beta: rope takes no part in mean-reward, fqe; leave it out"):
        make_session(method=("mean-reward", "fqe"), settings={"rope": {"beta": 3.0}})


@pytest.mark.training
def test_only_a_policy_that_is_judged_alone_is_set_beside_actions_at_random(tmp_path):
    chain = Chain()
    options = make_options({"method": "world", "members": 2, "settings": {"world": QUICK}})
    policies = [chain.policy(0.6), chain.policy(0.8)]
    policies[1].name = "other"
    for count in (1, 2):
        session, folder = Session(chain.log(20), policies[:count], options), ResultFolder(tmp_path / str(count))
        with folder.writing(session.about()):
            found = run_session(session, folder)
        assert [("differ" in one.signs) for one in found] == [count == 1] * count


def test_policies_are_asked_before_anything_is_computed():
    chain = Chain()
    with pytest.raises(UserError, match="two policies are named"):
        Session(chain.log(5), [chain.policy(0.6), chain.policy(0.6)], Options(method=TRIVIAL))
    odd = CallablePolicy(lambda observations: observations[:, :1] * 0 + 7.5, deterministic=True, name="odd")
    with pytest.raises(UserError, match="odd"):
        Session(chain.log(5), [odd], Options(method=TRIVIAL))


def test_a_run_is_answered_and_read_back(tmp_path):
    session, folder = make_session(), ResultFolder(tmp_path / "out")
    told: list[tuple[int, str, float]] = []
    with folder.writing(session.about()):
        first = run_session(session, folder, lambda *report: told.append(report))
        folder.write(first, rankings(session, first, folder, None), None)
        folder.finish()
    assert [report for report in told if report[1] == "done"] == [(0, "done", 1.0), (1, "done", 1.0)]
    with folder.writing(session.about(), resume=True):
        again = run_session(session, folder)
    assert [e.to_json() for e in again] == [e.to_json() for e in first]
    assert [c.policy for c in folder.trust().coverage] == [session.policies[0].name]


LEARNED: dict[str, Any] = {
    "method": ("mean-return", "fqe-clip", "world"),
    "members": 2,
    "settings": {
        "fqe-clip": {"steps": 40, "width": 8},
        "world": {"steps": 40, "width": 8, "depth": 1, "rollouts": 8, "max_horizon": 20},
    },
}


def three_policies() -> Session:
    """The first of them is compiled into programs, and so its rollouts are rehearsed."""
    chain = Chain()
    policies = [UniformPolicy(), chain.policy(0.6), chain.policy(0.9)]
    return Session(chain.log(20), policies, make_options(LEARNED))


def in_one_program(patch: pytest.MonkeyPatch) -> None:
    """All members, as on an accelerator."""
    patch.setattr("ropeval.learning.engine._choose", lambda arrangement, transitions: Vectorised)


def side_by_side(patch: pytest.MonkeyPatch) -> None:
    in_one_program(patch)
    patch.setattr("ropeval.evaluation.session.sized_for", lambda backend: "gpu")


def answers(folder: ResultFolder) -> list[object]:
    asked = three_policies()
    with folder.writing(asked.about()):
        return [replace(one, seconds=0.0).to_json(everything=True) for one in run_session(asked, folder)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The answers one by one."""
    with pytest.MonkeyPatch.context() as patch:
        in_one_program(patch)
        return answers(ResultFolder(tmp_path_factory.mktemp("alone") / "out"))


def same(found: list[Any], alone: list[Any]) -> bool:
    """The same bits; of what trains together the same but for the rounding of products."""
    for one, other in zip(found, alone, strict=True):
        if one["method"] == "fqe-clip":
            assert one["members"] == pytest.approx(other["members"], rel=1e-3)
        else:
            assert one == other
    return True


@pytest.mark.training
@pytest.mark.parametrize("rehearsed", [True, False])
def test_on_an_accelerator_two_lanes_come_to_the_same(tmp_path, monkeypatch, alone, rehearsed):
    """Several policies at a time, and with what is compiled early or without."""
    assert three_policies().lanes() == [[0, 1, 2]]
    side_by_side(monkeypatch)
    asked = three_policies()
    assert asked.lanes() == [[2], [0, 1]]
    assert [asked.at_once(asked.log, lane) for lane in asked.lanes()] == [ABREAST, ABREAST]
    assert [asked.companies(asked.log, lane) for lane in asked.lanes()] == [[[0], [1], [2]], [[0, 1, 2]]]
    if not rehearsed:
        monkeypatch.setattr("ropeval.learning.engine.Run.rehearse", lambda run, work: None)
    jax.clear_caches()
    assert same(answers(ResultFolder(tmp_path / "two")), alone)
    assert len(alone) == 9


@pytest.mark.parametrize(("room", "expected"), [(0.5, 1), (1.5, 1), (2.5, 2), (3.5, 3), (99.0, ABREAST)])
def test_as_many_policies_at_a_time_as_can_be_held_together(monkeypatch, room, expected):
    asked = three_policies()
    answers = asked.log.problem(asked.policies[0]).answers
    rows, width = answers.logged.shape
    monkeypatch.setattr("ropeval.data.transitions.held_bytes", lambda: 4 * rows * width * (1 + room * answers.count))
    assert [asked.at_once(asked.log, lane) for lane in ([0, 1], [2])] == [expected, expected]


@pytest.mark.parametrize(("room", "expected"), [(3.5, [1, 1, 1]), (8.5, [2, 1]), (99.0, [3])])
def test_companies_are_as_large_as_can_be_held_twice_beside_another(monkeypatch, room, expected):
    side_by_side(monkeypatch)
    asked = three_policies()
    answers = asked.log.problem(asked.policies[0]).answers
    rows, width = answers.logged.shape
    monkeypatch.setattr("ropeval.data.transitions.held_bytes", lambda: 4 * rows * width * (1 + room * answers.count))
    assert [len(places) for places in asked.companies(asked.log, [0, 1])] == expected
    monkeypatch.setattr("ropeval.evaluation.session.ANSWERED", answers.asked_bytes)
    assert asked.companies(asked.log, [0, 1]) == [[0], [1], [2]]


@pytest.mark.training
def test_policies_train_together_and_a_resumed_run_comes_to_the_same_bits(tmp_path, monkeypatch):
    """One method alone is a lane, too. When one answer is missing, all train again: two alone would round otherwise."""
    side_by_side(monkeypatch)
    together = Mock(wraps=arrangements._chunk_of_runs)
    monkeypatch.setattr(arrangements, "_chunk_of_runs", together)
    chain, folder = Chain(), ResultFolder(tmp_path / "out")
    policies = [UniformPolicy(), chain.policy(0.6), chain.policy(0.9)]
    asked = Session(
        chain.log(20),
        policies,
        make_options({**LEARNED, "method": "fqe-clip", "settings": {"fqe-clip": LEARNED["settings"]["fqe-clip"]}}),
    )

    def values() -> list[list[float | None]]:
        with folder.writing(asked.about(), resume=True):
            return [one.members for one in run_session(asked, folder)]

    first = values()
    trained = together.call_count
    assert trained > 0
    assert together.call_args.args[4].shape == (3, 2)  # keys of policies and members
    assert values() == first
    assert together.call_count == trained  # all is kept
    (folder.work / "1.json").unlink()
    assert values() == first
    assert together.call_count == 2 * trained
    assert together.call_args.args[4].shape == (3, 2)


@pytest.mark.training
def test_a_rehearsal_that_fails_is_not_heard_of(tmp_path, monkeypatch, alone):
    side_by_side(monkeypatch)
    failed = threading.Event()

    def fail(*given):
        failed.set()
        raise MemoryError

    monkeypatch.setattr("ropeval.estimators.world.prepared.first_chunk", fail)
    assert same(answers(ResultFolder(tmp_path / "out")), alone)
    assert failed.is_set()


@pytest.mark.training
@pytest.mark.parametrize("what", [UserError("not so"), KeyboardInterrupt()])
def test_where_one_lane_fails_the_other_ends(tmp_path, monkeypatch, what):
    """And what was finished before is found again; no thread stays."""
    side_by_side(monkeypatch)
    monkeypatch.setattr("ropeval.evaluation.session.ABREAST", 2)
    asked, folder, before = three_policies(), ResultFolder(tmp_path / "out"), set(threading.enumerate())

    def report(number, stage, fraction):
        if number == 8 and stage == "rollouts":  # of the third policy, when one of the others is answered
            raise what

    with folder.writing(asked.about()), pytest.raises(type(what)):
        run_session(asked, folder, report)
    assert set(threading.enumerate()) <= before
    assert folder.kept_estimate(2) or folder.kept_estimate(5)
    assert folder.kept_estimate(8) is None
    with folder.writing(asked.about(), resume=True):
        assert len(run_session(asked, folder)) == 9


@pytest.mark.training
def test_a_rehearsal_ends_with_the_work(tmp_path, monkeypatch):
    """Ctrl-C while the simulator trains: what is compiled early ends at its next report of progress."""
    side_by_side(monkeypatch)
    asked, folder, before = three_policies(), ResultFolder(tmp_path / "out"), set(threading.enumerate())
    begun, pressed, ended = threading.Event(), threading.Event(), threading.Event()

    def wait(learner, data, hyper, steps, run, stage=None):
        begun.set()
        pressed.wait()
        try:
            while True:  # as one does that compiles and reports, over and over
                run.report("world", 0.0)
        finally:
            ended.set()

    def report(number, stage, fraction):
        if stage == "world":
            begun.wait()
            pressed.set()
            raise KeyboardInterrupt

    monkeypatch.setattr("ropeval.estimators.world.prepared.first_chunk", wait)
    with folder.writing(asked.about()), pytest.raises(KeyboardInterrupt):
        run_session(asked, folder, report)
    assert ended.is_set()
    assert set(threading.enumerate()) <= before
