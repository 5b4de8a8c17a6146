"""What a policy is asked, and what is refused: it must fit the log, and answer in its shapes."""

import re
import threading

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy, CategoricalMLP, Space, UniformPolicy, load_policy
from ropeval.policies import policy as policy_module
from ropeval.policies.policy import draw_actions, draw_in_blocks, every_action, log_probs
from tests.data.test_exact_sums import biased
from tests.policies.hostile import FILES
from tests.policies.samples import arrays, save


@pytest.mark.parametrize(("inputs", "actions", "message"), [(4, 2, "size 4"), (3, 1, "1 numbers per action")])
def test_a_policy_that_does_not_fit_the_log_is_refused(columns, tmp_path, inputs, actions, message):
    policy = load_policy(save(tmp_path, arrays(inputs=inputs, actions=actions)))
    with pytest.raises(UserError, match=message):
        make_problem(Dataset.from_columns(columns), policy, 0.9)


def test_a_continuous_policy_on_a_discrete_log_is_refused(columns, tmp_path):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    with pytest.raises(UserError, match="its actions are continuous"):
        make_problem(log, load_policy(save(tmp_path, arrays())), 0.9)


def test_discrete_answers_outside_the_set_are_refused(columns):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    policy = CallablePolicy(lambda o: np.full(len(o), 3), deterministic=True)
    with pytest.raises(UserError, match="it gave action 3"):
        _ = make_problem(log, policy, 0.9).transitions  # asks the policy


def test_a_normalised_log_and_a_raw_policy_is_noted():
    rng = np.random.default_rng(0)
    policy = load_policy(FILES / "sac.zip")
    raw = rng.uniform([-1, -1, -8], [1, 1, 8], (1000, 3)).astype(np.float32)
    policy.observation_range = np.array([-1, -1, -8], np.float32), np.array([1, 1, 8], np.float32)  # as Pendulum's
    assert policy.notes(raw) == []
    (note,) = policy.notes((raw - raw.mean(0)) / raw.std(0))
    assert re.search(
        r"4\d% of the logged observations have a number [01] outside \[-1, 1\].*is the log normalised", note
    )


def test_a_deterministic_choice_has_the_probabilities_0_and_1():
    choice = CallablePolicy(lambda o: o[:, 0].astype(int), deterministic=True)
    states = np.array([[0.0], [1.0]], np.float32)
    assert not choice.has_probabilities  # until it knows that the actions are discrete
    fitted = choice.fitted(Space(1, 2, discrete=True))
    assert fitted.has_probabilities
    np.testing.assert_array_equal(log_probs(fitted, states, np.array([0, 0])), [0.0, -np.inf])
    assert not choice.fitted(Space(1, 2, discrete=False)).has_probabilities


def test_every_action_comes_with_its_probability_and_the_first_is_drawn():
    policy = biased([0.3, 0.7]).fitted(Space(5, 2, discrete=True))
    states = np.zeros((4000, 5), np.float32)
    actions, weight = every_action(policy, states, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(actions, axis=1), [[0, 1]] * 4000)
    np.testing.assert_allclose(weight, np.array([0.3, 0.7])[actions], rtol=1e-6)
    assert actions[:, 0].mean() == pytest.approx(0.7, abs=0.03)


def test_blocks_of_states_get_the_answers_that_all_at_once_would_get(monkeypatch):
    states = np.random.default_rng(0).standard_normal((1000, 5)).astype(np.float32)
    box = Space(5, 2, discrete=False, low=-np.ones(2), high=np.ones(2))
    discrete, continuous = biased([0.3, 0.7]).fitted(Space(5, 2, discrete=True)), UniformPolicy(-1, 1).fitted(box)
    whole = every_action(discrete, states, np.random.default_rng(1))
    monkeypatch.setattr(policy_module, "BATCH", 96)
    for one, other in zip(whole, every_action(discrete, states, np.random.default_rng(1)), strict=True):
        np.testing.assert_array_equal(one, other)
    drawn = draw_actions(continuous, states, 3, np.random.default_rng(1))
    blocks = list(draw_in_blocks(continuous, states, 3, np.random.default_rng(1)))
    assert len(blocks) == 11
    np.testing.assert_array_equal(drawn, np.concatenate(blocks))


def test_blocks_side_by_side_get_what_they_get_one_after_another(monkeypatch):
    states = np.random.default_rng(0).standard_normal((1000, 5)).astype(np.float32)
    rng = np.random.default_rng(1)
    layers = [(rng.standard_normal(shape, np.float32), np.zeros(shape[0], np.float32)) for shape in ((4, 5), (3, 4))]
    policy = CategoricalMLP([layers[0]], layers[1], "stochastic")
    monkeypatch.setattr(policy_module, "BATCH", 96)
    asked = [
        lambda: draw_actions(policy, states, 3, np.random.default_rng(1)),
        lambda: every_action(policy, states, np.random.default_rng(1))[0],
        lambda: every_action(policy, states, np.random.default_rng(1))[1],
        lambda: log_probs(policy, states, np.arange(1000) % 3),
    ]
    together = [ask() for ask in asked]
    monkeypatch.setattr(CategoricalMLP, "side_by_side", False)
    for ask, found in zip(asked, together, strict=True):
        np.testing.assert_array_equal(found, ask())


def test_a_function_is_asked_block_after_block_by_whoever_asks(monkeypatch):
    """Its author need not think of threads."""
    monkeypatch.setattr(policy_module, "BATCH", 96)
    seen = []

    def act(observations):
        seen.append((threading.get_ident(), float(observations[0, 0])))
        return np.zeros((len(observations), 1), np.float32)

    states = np.arange(1000, dtype=np.float32)[:, None]
    policy = CallablePolicy(act, deterministic=True).fitted(Space(1, 1, discrete=False))
    draw_actions(policy, states, 1, np.random.default_rng(0))
    assert seen == [(threading.get_ident(), start) for start in range(0, 1000, 96)]
