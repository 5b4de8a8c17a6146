"""Questions on a cluster, with a Ray of this process; `tests/bench/run/test_cluster.py` has a real one."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ropeval.cluster import Cluster
from ropeval.errors import UserError
from ropeval.evaluation import on_ray
from ropeval.evaluation.options import make_options
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import Session, run_session
from ropeval.learning.arrangements import Threads
from tests.problems import Chain

METHODS = ("mean-return", "wis", "pdis")


class Reference:
    """Of work that is done when it is waited for; its arguments may be references."""

    def __init__(self, function: Any, *given: Any):
        self.function, self.given = function, given

    def value(self) -> Any:
        return self.function(*(one.value() if isinstance(one, Reference) else one for one in self.given))


class NearRay:
    """The last that was handed in comes first."""

    exceptions = SimpleNamespace(RayError=ConnectionError)
    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda _: None)

    def __init__(self) -> None:
        self.done: list[str] = []

    def remote(self, **_: Any) -> Any:
        return lambda function: SimpleNamespace(remote=lambda *given: Reference(function, *given))

    def put(self, thing: Any) -> Any:
        return thing

    def wait(self, references: list[Reference], num_returns: int) -> Any:
        return references[-1:], references[:-1]

    def get(self, reference: Reference) -> Any:
        self.done.append(reference.function.__name__)
        return reference.value()


@pytest.fixture
def ray(monkeypatch):
    made = NearRay()

    @contextmanager
    def connected(_: Cluster):
        yield made

    monkeypatch.setattr(on_ray, "connected", connected)
    monkeypatch.setenv("ROPEVAL_METHODS", "")
    on_ray._logs.clear()
    return made


def make_session() -> Session:
    chain = Chain()
    log = chain.log(20)
    known = replace(log, log_probs=np.full(len(log), np.log(0.5), np.float32))  # else they would be trained
    options = make_options({"method": METHODS, "members": 3})
    return Session(known, [chain.policy(0.6), chain.policy(0.7)], options)


def answered(session: Session, folder: ResultFolder, **where: Any) -> list[dict[str, Any]]:
    with folder.writing(session.about(), resume=folder.has("run.json")):
        return [{**found.to_json(), "seconds": None} for found in run_session(session, folder, **where)]


def test_the_answers_and_their_order_are_those_of_this_machine(ray, tmp_path):
    session, told = make_session(), []
    here = answered(session, ResultFolder(tmp_path / "here"))
    there = ResultFolder(tmp_path / "there")
    report = lambda number, stage, _: told.append((number, stage))  # noqa: E731
    assert answered(session, there, cluster=Cluster("local"), report=report) == here
    assert told == [(number, "done") for number in reversed(range(6))]
    assert len(list(there.work.glob("coverage-*.json"))) == 2


def test_what_is_kept_is_not_asked_again(ray, tmp_path):
    session, folder = make_session(), ResultFolder(tmp_path / "out")
    first = answered(session, folder)
    (folder.work / "4.json").unlink()
    assert answered(session, folder, cluster=Cluster("local")) == first
    assert ray.done.count("_remote_answer") == 1


def test_work_that_fails_fails_as_it_would_here(ray, tmp_path, monkeypatch):
    session = make_session()

    def refuse(*_: Any, **__: Any) -> None:
        raise UserError("no answer to that")

    monkeypatch.setattr(on_ray, "answer", refuse)
    with pytest.raises(UserError, match="no answer to that"):
        answered(session, ResultFolder(tmp_path / "out"), cluster=Cluster("local"))


def test_a_cluster_that_gives_up_is_one_line(ray, tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "get", lambda _: (_ for _ in ()).throw(ConnectionError("the node died\nand more")))
    with pytest.raises(UserError, match=r"gave up on a question \(the node died\); --resume goes on"):
        answered(make_session(), ResultFolder(tmp_path / "out"), cluster=Cluster("local"))


@pytest.mark.training
def test_what_is_prepared_is_trained_once(ray, monkeypatch):
    chain = Chain()
    small = {"wis": {"steps": 20, "width": 8, "depth": 1}}
    options = make_options({"method": "wis", "members": 2, "settings": small})
    asked, policy = on_ray.Asked(chain.log(20), options, "one run", {}, True), chain.policy(0.6)
    covered = on_ray._remote_coverage(asked, policy)
    alone = on_ray._remote_answer(asked, policy, "wis", covered, {})
    on_ray._logs.clear()  # on another node
    files = on_ray._remote_preparation(asked, ["wis"], {})
    on_ray._logs.clear()  # and on a third
    monkeypatch.setattr(Threads, "chunks", lambda *_: pytest.fail("it is trained again"))
    assert on_ray._remote_answer(asked, policy, "wis", covered, files).value == alone.value


def test_a_folder_travels(tmp_path):
    files = {"world-1/shared.npz": b"1", "behaviour.npz": b"2"}
    on_ray._unpack(tmp_path, files)
    assert on_ray._pack(tmp_path) == files
    assert on_ray._pack(tmp_path / "nothing") == {}
