"""States that have numbers for names: learners see a code, policies the number."""

from dataclasses import replace

import numpy as np
import pytest

import ropeval
from ropeval.data import Dataset, Log, numbered
from ropeval.data.numbered import numbered_states
from ropeval.data.whole_numbers import MOST, whole_numbers
from ropeval.errors import UserError
from ropeval.evaluation.evaluate import _fingerprint_of_log
from ropeval.evaluation.options import make_options
from ropeval.evaluation.session import Session
from ropeval.policies import CallablePolicy, UniformPolicy
from ropeval.tabular import TabularMDP, policy_value

STATES = 25
NAMES = np.random.default_rng(9).permutation(STATES)  # of the places of a circle
PLACES = np.argsort(NAMES)  # of the names
STAYING = np.array([1, 0, 1])[PLACES % 3]  # [25] by name: to and fro between a state that pays and its neighbour, and
SHUNNING = np.array([1, 1, 0])[PLACES % 3]  # between two that do not


def ring(rows: int, seed: int = 0) -> tuple[Dataset, TabularMDP]:
    """25 states in a circle, under names in no order; action 1 goes on, 0 back, and every third place pays."""
    P, r = np.zeros((STATES, 2, STATES)), np.zeros((STATES, 2))
    for place, name in enumerate(NAMES):
        P[name, 1, NAMES[(place + 1) % STATES]] = P[name, 0, NAMES[place - 1]] = 1.0
        r[name] = place % 3 == 0
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(0, STATES, rows), rng.integers(0, 2, rows)
    following = P[states, actions].argmax(axis=1)
    columns = {
        "observations": states, "actions": actions, "rewards": r[states, actions], "next_observations": following,
        "terminations": np.zeros(rows, bool), "truncations": np.ones(rows, bool),
    }  # fmt: skip
    return Dataset.from_columns(columns), TabularMDP(P, r, np.full(STATES, 1 / STATES), 0.8)


def test_one_number_per_step_is_an_observation():
    log, _ = ring(600)
    assert log.observations.shape == (600, 1)
    assert log.initial_observations.shape == (600, 1)


def test_learners_see_a_code_and_policies_the_number():
    log, _ = ring(600)
    seen = []

    def even(observations):
        seen.append(observations)
        return (observations[:, 0] % 2).astype(int)

    problem = Log(log, 0.8).problem(CallablePolicy(even, deterministic=True))
    coded = problem.dataset
    assert coded.observations.shape == (600, STATES)
    assert (coded.observations.argmax(axis=1) == log.observations[:, 0]).all()
    assert (coded.observations.sum(axis=1) == 1).all()
    assert (coded.sha256, coded.labels[0][3]) == (log.sha256, "observations[0] 3")
    assert problem.log.given is log
    assert problem.transitions.dim == STATES + 2
    assert all(part.shape[1] == 1 for part in seen)
    actions = problem.answers.following.pairs.raw(slice(None))[1][:, 0]
    assert (actions == log.next_observations[:, 0] % 2).all()


def test_it_is_said_before_the_work_begins():
    log, _ = ring(600)
    [note] = asked(log).notes()
    assert "25 kinds: each is learned as a state of its own, since the log does not show" in note
    assert "--numbers quantity" in note


def asked(log: Dataset, **options) -> Session:
    return Session(log, [UniformPolicy()], make_options({"method": ("mean-return",), "gamma": 0.5, **options}))


def counted(log: Dataset) -> Dataset:
    """What is earned falls with the number, which goes up and down by one."""
    after = np.clip(log.observations + 2 * log.actions[:, None] - 1, 0, STATES - 1).astype(np.float32)
    return replace(log, rewards=-log.observations[:, 0], next_observations=after)


def test_what_counts_something_is_learned_as_a_quantity():
    log = counted(ring(600)[0])
    assert log.number_is_quantity
    assert Log(log, 0.8).dataset is log
    [note] = asked(log).notes()
    assert "25 kinds: they are learned as a quantity, since the log shows" in note
    assert "--numbers names" in note


@pytest.mark.parametrize("change", [lambda log: log, counted])
def test_who_knows_better_says_so(change):
    log = change(ring(600)[0])
    for numbers, width, taken in (("names", STATES, "a state of its own"), ("quantity", 1, "as a quantity")):
        session = asked(log, numbers=numbers)
        assert session.log.dataset.observations.shape == (600, width)
        [note] = session.notes()
        assert f"{taken}, as --numbers says" in note
        assert session.fingerprint != asked(log).fingerprint
    rare = replace(log, next_observations=np.arange(600, dtype=np.float32)[:, None])  # each seen once
    assert asked(rare).log.states is None
    assert len(asked(rare, numbers="names").log.states.numbers) == 600


def test_what_is_prepared_for_names_is_not_taken_for_a_quantity():
    log = ring(600)[0]
    names, quantity, auto = (_fingerprint_of_log(Log(log, 0.8, numbers=n)) for n in ("names", "quantity", "auto"))
    assert names == auto != quantity


def test_names_that_cannot_be_are_refused():
    log = replace(ring(600)[0], observations=np.full((600, 1), 0.5, np.float32))
    with pytest.raises(UserError, match="numbers is names: that needs observations of one whole number each"):
        asked(log, numbers="names")
    assert asked(log, numbers="quantity").notes() == []


def test_a_log_is_looked_through_once(monkeypatch):
    looks = []

    def counted(columns):
        looks.append(columns)
        return whole_numbers(columns)

    monkeypatch.setattr("ropeval.data.dataset.whole_numbers", counted)
    log, _ = ring(600)
    session = asked(log)
    assert session.notes()
    assert session.log.states is not None
    assert log.space.states == STATES
    assert len(looks) == 1


def test_numbers_in_no_order_and_with_gaps():
    log, _ = ring(600)
    gaps = replace(log, **{name: 10 * getattr(log, name) - 7 for name in (
        "observations", "next_observations", "initial_observations")})  # fmt: skip
    states = numbered_states(gaps)
    assert (states.number(states.code(gaps.observations)) == gaps.observations).all()


@pytest.mark.parametrize(
    "other",
    [
        lambda log: replace(log, observations=log.observations + 0.5),  # quantities
        lambda log: replace(log, next_observations=np.full_like(log.observations, 2.5)),
        lambda log: replace(log, observations=log.observations % 2, next_observations=log.observations % 2),  # few
        lambda log: replace(log, next_observations=np.arange(600, dtype=np.float32)[:, None]),  # each seen once
        lambda log: replace(log, observations=np.repeat(log.observations, 2, axis=1)),  # two numbers
    ],
)
def test_other_logs_stay_as_they_are(other):
    log = other(replace(ring(600)[0], initial_observations=np.zeros((600, 1), np.float32)))
    assert numbered_states(log) is None
    assert Log(log, 0.8).dataset is log


def test_more_kinds_than_are_told_apart_still_have_an_end(monkeypatch):
    monkeypatch.setattr("ropeval.data.whole_numbers.BLOCK", 700)
    many = np.arange(MOST + 1, dtype=np.float32)[::-1, None]
    assert whole_numbers((many, many - 3)) == (-3, MOST, None)
    found = whole_numbers((many[1:], many[5:]))
    assert (found.least, found.largest) == (0, MOST - 1)
    assert (found.kinds == np.arange(MOST)).all()


def test_a_code_that_would_fill_the_memory_is_not_made(monkeypatch):
    monkeypatch.setattr(numbered, "held_bytes", lambda: 1000)
    assert numbered_states(ring(600)[0]) is None


SMALL = {
    "fqe": {"width": 32, "depth": 1, "steps": 800, "batch": 64, "learning_rate": 5e-3, "tau": 0.05},
    "world": {"width": 64, "depth": 1, "steps": 1500, "batch": 64, "learning_rate": 4e-3, "rollouts": 100},
}


@pytest.mark.parametrize("method", SMALL)
@pytest.mark.training
def test_values_of_states_in_no_order(method):
    """As a function of one number, reward and policies would jump at every step."""
    log, mdp = ring(4000)
    for actions in (STAYING, SHUNNING):
        exact = policy_value(mdp, np.eye(2)[actions])
        assert abs(exact - 1.8) > 0.6  # what the log itself earns

        def policy(observations, actions=actions):
            return actions[observations[:, 0].astype(int)]

        found = ropeval.evaluate(
            log, CallablePolicy(policy, True), method, gamma=0.8, members=2, settings={method: SMALL[method]}
        )
        assert found.value == pytest.approx(exact, abs=0.2)
