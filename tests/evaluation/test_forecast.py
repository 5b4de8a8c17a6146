"""How long it will take, and what fits into a given time. Nothing is trained."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Dataset
from ropeval.errors import UserError
from ropeval.evaluation.forecast import Forecast, spoken
from ropeval.evaluation.options import make_options
from ropeval.evaluation.session import Session
from ropeval.policies import CallablePolicy

ROWS = 100_000


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(ROWS, 11)).astype(np.float32)
    return Dataset.from_columns(
        {
            "observations": states, "next_observations": states, "actions": states[:, :3], "rewards": states[:, 0],
            "terminations": np.zeros(ROWS, bool), "truncations": np.arange(ROWS) % 100 == 99,
        }
    )  # fmt: skip


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("ropeval.evaluation.forecast.cores", lambda: 2)
    monkeypatch.setattr("jax.default_backend", lambda: "cpu")


def session(log, count=1, **options):
    policies = [CallablePolicy(lambda o: np.zeros((len(o), 3)), deterministic=True, name=f"p{i}") for i in range(count)]
    return Session(log, policies, make_options(options))


def test_it_is_near_what_was_measured(log):
    """docs/methods/world.md: four policies on 100,000 rows of Hopper, 101 s on two cores. speed-cpu.md: 350 steps/s."""
    assert session(log, 4, method=["world"]).forecast().total == pytest.approx(101, rel=0.25)
    wide = {"fqe": {"batch": 512, "steps": 15_000}}
    assert session(log, method=["fqe"], settings=wide).forecast().total == pytest.approx(15_000 * 5 / 350, rel=0.25)


def test_cores_that_may_not_be_used_do_not_count(log, monkeypatch):
    monkeypatch.setattr("ropeval.evaluation.forecast.cores", lambda: 1)
    assert session(log, 4, method=["world"]).forecast().total == pytest.approx(2 * 101, rel=0.25)


def test_the_world_is_learned_once_and_the_rest_for_every_policy(log):
    one, four = (session(log, n, method=["world", "fqe"]).forecast().seconds for n in (1, 4))
    assert four["fqe"] == pytest.approx(4 * one["fqe"])
    assert four["world"] < 1.5 * one["world"]
    assert session(log, method=["mean-return", "lspe"]).forecast().total == 0.0


@pytest.mark.parametrize(("method", "times"), [("fqe", 2.3), ("world", 3.0)])
def test_numbered_states_take_as_long_as_their_codes(log, method, times):
    """speed-width-cpu.md: 500 inputs take fqe 2.3 times as long as 4, and world 3.0 times."""

    def seconds(kinds):
        numbers = (np.arange(ROWS) % kinds).astype(np.float32)[:, None]
        columns = dict.fromkeys(("observations", "next_observations", "initial_observations"), numbers)
        return session(replace(log, **columns), method=[method]).forecast().total

    assert seconds(500) == pytest.approx(times * seconds(4), rel=0.25)


@pytest.mark.parametrize("minutes", [0.5, 1, 3, 5, 10, 30])
def test_sizes_follow_the_minutes(log, minutes):
    found = session(log, minutes=minutes)
    assert 0.5 * minutes < found.forecast().total / 60 <= minutes
    assert 3 <= found.options.members <= 20
    again = session(log, minutes=minutes)
    assert found.fingerprint == again.fingerprint  # or a run could not be resumed


def test_more_time_never_makes_anything_smaller(log):
    sizes = [session(log, minutes=m).forecast().total for m in (0.1, 0.5, 2, 8, 32, 500)]
    assert sizes == sorted(sizes)


def test_what_was_given_stays(log):
    found = session(log, minutes=1, members=7, settings={"world": {"steps": 777}})
    assert found.options.members == 7
    assert found.options.settings["world"]["steps"] == 777
    with pytest.raises(UserError, match="minutes and steps both say how long"):
        make_options({"minutes": 1, "steps": 10})


def test_too_few_minutes_are_told(log):
    assert any("0.01 minutes are too few" in note for note in session(log, minutes=0.01).notes())
    assert session(log, minutes=10).notes() == []


def test_it_is_told_in_one_line():
    assert str(Forecast({"fqe-clip": 31.0, "world": 93.0, "wis": 0.2})) == "about 2.1 min: world 1.6 min, fqe-clip 30 s"
    assert [spoken(s) for s in (4.4, 61, 600, 7200)] == ["4 s", "60 s", "10 min", "2 h"]
