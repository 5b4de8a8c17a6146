"""The log's side is prepared once: for all policies, for all methods that ask alike, and for a run that is resumed."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Log
from ropeval.estimators import behaviour
from ropeval.estimators.world import prepared as world
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import Session, run_session
from ropeval.learning.arrangements import Threads
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.prepare import prepared
from ropeval.learning.resample import Resamples
from ropeval.settings import PartConfig
from tests.problems import LinearQuadratic
from tests.tiny import own, tiny_log, tiny_settings

POLICIES = [LinearQuadratic().policy(sigma) for sigma in (0.4, 0.6, 0.8)]
RUN = Run(member_keys(0, 2), part="thing")


class ThingConfig(PartConfig):
    size: int = 1


@pytest.fixture(scope="module")
def dataset():
    return tiny_log("continuous")


@pytest.fixture
def trainings(monkeypatch):
    """The stages whose training was asked for, in order."""
    asked: list[str] = []

    def counting(train):
        def counted(learner, data, hyper, steps, run, *stage, **options):
            asked.extend(stage or [run.part])
            return train(learner, data, hyper, steps, run, *stage, **options)

        return counted

    for module in (world, behaviour):
        monkeypatch.setattr(module, "train", counting(module.train))
    return asked


def values(log, policy, method, members=2):
    problem = log.problem(policy, draws=1)
    return answer(problem, make_method(method, tiny_settings()), Options(members=members)).members


@pytest.mark.parametrize(("method", "stages"), [("world", ["world", "log-value"]), ("is", ["behaviour"])])
@pytest.mark.training
def test_three_policies_train_once_and_who_comes_first_does_not_matter(dataset, trainings, method, stages):
    log = Log(dataset, 0.9)
    forwards = [values(log, policy, method) for policy in POLICIES]
    assert trainings == stages
    log = Log(dataset, 0.9)
    backwards = [values(log, policy, method) for policy in reversed(POLICIES)]
    assert trainings == stages * 2
    assert forwards == backwards[::-1]
    assert len({tuple(row) for row in forwards}) == 3
    assert values(Log(dataset, 0.9), POLICIES[1], method) == forwards[1]  # nobody else was asked


@pytest.mark.training
def test_methods_that_ask_alike_share_one_behaviour(dataset, trainings):
    """All of is, wis and dr; but not one that wants it fitted longer, and not for other members."""
    log = Log(dataset, 0.9)
    for method in ("is", "wis"):
        values(log, POLICIES[0], method)
    assert trainings == ["behaviour"]
    longer = {"is": tiny_settings()["is"] | {"steps": 70}}
    answer(log.problem(POLICIES[0], draws=1), make_method("is", longer), Options(members=2))
    assert trainings == ["behaviour"] * 2
    values(log, POLICIES[0], "is", members=1)
    assert trainings == ["behaviour"] * 3

    trainings.clear()
    problem, run = Log(dataset, 0.9).problem(POLICIES[0], draws=1), Run(member_keys(0, 1))
    short = {"width": 8, "depth": 1, "batch": 16}
    for method, settings in (("is", {"steps": 30}), ("dr", {"steps": 30, "behaviour_steps": 30} | short)):
        fit(problem, make_method(method, {method: settings}), run)
    assert trainings == ["behaviour"]


@pytest.mark.parametrize("method", ["world", "wis"])
@pytest.mark.training
def test_a_resumed_run_finds_what_was_prepared(dataset, tmp_path, monkeypatch, method):
    """Interrupted in the second policy: what the first one's question prepared is not trained again."""
    chosen = own(method, tiny_settings())
    session = Session(dataset, POLICIES, Options(method=(method,), settings=chosen, gamma=0.9, members=2, draws=1))
    expected = [row.members for row in run_session(session, ResultFolder(tmp_path / "whole"))]

    def stop(number, stage, fraction):
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_session(session, ResultFolder(tmp_path / "cut"), stop)
    monkeypatch.setattr(Threads, "chunks", lambda *given: pytest.fail("trained again"))
    found = [row.members for row in run_session(session, ResultFolder(tmp_path / "cut"))]
    assert found == expected


def test_what_is_asked_with_another_run_or_configuration_is_made_anew(dataset):
    made = []

    def make(log, config, run):
        made.append((config.size, run.part))
        return len(made)

    log, config = Log(dataset, 0.9), ThingConfig()
    same = [
        RUN,
        replace(RUN, report=print),
        replace(RUN, settings={"another.size": [1, 2]}),  # which is no concern of this part
    ]
    assert {prepared(make, log, config, run) for run in same} == {1}
    others = [
        RUN.of("other"),
        replace(RUN, keys=member_keys(1, 2)),
        replace(RUN, keys=member_keys(0, 1)),
        replace(RUN, resamples=Resamples(0, dataset.num_episodes)),
        replace(RUN, settings={"thing.size": [1, 2]}),
    ]
    assert [prepared(make, log, config, run) for run in others] == [2, 3, 4, 5, 6]
    assert prepared(make, log, ThingConfig(size=2), RUN) == 7
    assert prepared(make, Log(dataset, 0.9), config, RUN) == 8


def test_problems_of_one_log_share_its_features(dataset):
    log = Log(dataset, 0.9)
    first, second = (log.problem(policy, draws=1).transitions for policy in POLICIES[:2])
    assert first.rows.x is second.rows.x
    assert first.rows.discount is second.rows.discount
    assert not np.array_equal(first.rows.next_x, second.rows.next_x)
