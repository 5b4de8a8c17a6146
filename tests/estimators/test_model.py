"""The learned model on problems whose answers are known, and where it must stay sane."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.estimators import model
from ropeval.estimators.model import MODEL, ModelConfig, choose_initial, horizon_for, known_states, make_units
from ropeval.evaluation.evaluate import evaluate
from ropeval.learning.engine import Run, member_keys, train
from ropeval.policies import CallablePolicy
from tests.problems import Chain, LinearQuadratic

SMALL = {"steps": 1000, "width": 64, "depth": 1, "batch": 64, "learning_rate": 3e-3, "rollouts": 1000}
LANDING = {"model": SMALL}  # compared with the log as it is
QUICK = {"steps": 20, "width": 8, "depth": 1, "batch": 16, "rollouts": 20}


def one_step_log() -> Dataset:
    columns = {
        "observations": [[1.0, 2.0]],
        "actions": [[0.5]],
        "rewards": [3.0],
        "terminations": [False],
        "truncations": [True],
        "next_observations": [[1.5, 2.0]],
    }
    return Dataset.from_columns({name: np.array(values) for name, values in columns.items()})


@pytest.mark.parametrize("right", [0.7, 1.0])
def test_lands_on_the_chain(right):
    """Within 0.05 of values of about 0.3 and 0.6, for stochastic and deterministic policies, from one-hot states."""
    chain = Chain(size=3, gamma=0.8)
    data = chain.log(500, length=20)
    found = evaluate(data, chain.policy(right), "model", gamma=0.8, members=2, settings=LANDING, resample=False)
    assert found.value == pytest.approx(chain.values(right)[1], abs=0.05)
    assert found.diverged == []


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_lands_on_the_linear_quadratic_problem(sigma):
    """Within 10 % of values of −5.5 and −7.8, although every logged episode is cut off after ten steps."""
    problem = LinearQuadratic()
    data = problem.log(600)
    found = evaluate(data, problem.policy(sigma), "model", gamma=0.9, members=2, settings=LANDING, resample=False)
    assert found.value == pytest.approx(problem.value_at(data.initial_observations, sigma), rel=0.1)


def test_constant_reward_for_ever_is_exact():
    problem = LinearQuadratic()
    data = problem.log(30)
    data = Dataset(**(data.__dict__ | {"rewards": np.full(len(data), 2.0, np.float32)}))
    found = evaluate(data, problem.policy(0.5), "model", gamma=0.9, members=2, settings={"model": QUICK})
    assert found.members == pytest.approx([20.0, 20.0], rel=1e-5)


def test_one_reward_per_step_until_the_end():
    """r = 1 and an end with probability p at every step: 1/(1 − γ(1 − p)), here within 5 %."""
    rng = np.random.default_rng(0)
    ends = rng.random(6000) < 0.2
    states = np.eye(3)[rng.integers(3, size=(2, 6000))]
    columns = {
        "observations": states[0],
        "actions": rng.integers(2, size=6000),
        "rewards": np.ones(6000),
        "terminations": ends,
        "truncations": np.zeros(6000, bool),
        "next_observations": states[1],
    }
    policy = CallablePolicy(lambda o: np.zeros(len(o), int), deterministic=True)
    data = Dataset.from_columns(columns)
    found = evaluate(data, policy, "model", gamma=0.9, members=2, settings=LANDING, resample=False)
    assert found.value == pytest.approx(1 / (1 - 0.9 * (1 - ends.mean())), rel=0.05)


def test_same_key_same_bits_and_members_do_not_meddle():
    problem = LinearQuadratic()
    question = make_problem(problem.log(30), problem.policy(0.5), 0.9)
    config = ModelConfig(**QUICK)
    one, two, again = (MODEL(question, config, Run(member_keys(3, m))).values for m in (1, 2, 2))
    np.testing.assert_array_equal(two, again)
    assert one[0] == pytest.approx(two[0], rel=1e-5)
    assert two[0] != two[1]


def test_a_member_that_is_not_a_number_is_given_up(monkeypatch):
    def broken(*arguments, **options):
        trained = train(*arguments, **options)
        spoilt = jax.tree.map(lambda a: a.at[1].set(np.nan), trained.state.target)
        return replace(trained, state=trained.state._replace(target=spoilt))

    monkeypatch.setattr(model, "train", broken)
    problem = LinearQuadratic()
    found = evaluate(problem.log(30), problem.policy(0.5), "model", gamma=0.9, members=2, settings={"model": QUICK})
    assert found.diverged == [1]
    assert found.value == found.members[0] is not None


def test_states_stay_in_the_logged_range_and_leaving_it_is_reported():
    """The policy pushes far harder than anything that was logged."""
    problem = LinearQuadratic()
    data = problem.log(600)
    seen = []

    def act(o):
        seen.append(o)
        return np.full((len(o), 1), 50.0)

    wild = CallablePolicy(act, deterministic=True, name="wild")
    settings = {"model": SMALL}
    found = evaluate(data, wild, "model", gamma=0.9, members=2, settings=settings)
    units = make_units(data, data.actions, 0.1)
    met = np.concatenate(seen)
    assert (met >= units.state_low - 1e-4).all()
    assert (met <= units.state_high + 1e-4).all()
    assert any("left the range" in w for w in found.warnings)


def test_horizon():
    config = ModelConfig()
    assert horizon_for(0.0, config) == 1
    assert 0.99 ** horizon_for(0.99, config) <= 1e-3 < 0.99 ** (horizon_for(0.99, config) - 1)
    assert horizon_for(0.99999, config) == config.max_horizon
    problem = LinearQuadratic()
    settings = {"model": QUICK | {"max_horizon": 3}}
    found = evaluate(problem.log(30), problem.policy(0.5), "model", gamma=0.9, members=1, settings=settings)
    assert any("stop after 3 steps" in w for w in found.warnings)


def test_initial_states_are_shared_out_evenly():
    rng = np.random.default_rng(0)
    states = np.arange(7, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(np.unique(choose_initial(states, 20, rng), return_counts=True)[1], np.full(7, 2))
    some = choose_initial(states, 4, rng)
    assert len(np.unique(some)) == 4


def test_few_states_are_recognised():
    chain = Chain()
    np.testing.assert_array_equal(known_states(chain.log(50).observations), np.eye(5)[::-1])
    assert known_states(LinearQuadratic().log(50).observations) is None
    assert known_states(np.eye(3, dtype=np.float32)) is None  # three rows say nothing


def test_a_log_of_one_step():
    """One reward was ever seen, so it is all that can be expected."""
    policy = CallablePolicy(lambda o: np.zeros((len(o), 1)), deterministic=True)
    found = evaluate(one_step_log(), policy, "model", gamma=0.5, members=1, settings={"model": QUICK})
    assert found.value == pytest.approx(6.0, rel=1e-4)
