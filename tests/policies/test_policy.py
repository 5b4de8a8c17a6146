"""What a policy is asked, and what is refused: it must fit the log, and answer in its shapes."""

import re

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy, Space, load_policy
from ropeval.policies.policy import draw_actions, log_probs
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
        make_problem(log, policy, 0.9)


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


def test_fitting_a_function_leaves_it_as_it_was():
    policy = CallablePolicy(lambda o: np.zeros(len(o), int), deterministic=True)
    fitted = policy.fitted(Space(3, 4, discrete=True))
    assert (fitted.discrete, fitted.action_size) == (True, 4)
    assert (policy.discrete, policy.action_size) == (None, None)
    assert policy.fitted(Space(3, 2, discrete=False)).discrete is False


def test_chances_of_a_function_follow_from_what_it_tells():
    states = np.zeros((2, 3), np.float32)
    third = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True).fitted(Space(3, 4, discrete=True))
    np.testing.assert_array_equal(third.action_probabilities(states), [[0, 0, 1, 0]] * 2)
    told = CallablePolicy(lambda o, rng: None, False, log_prob=lambda o, a: np.log([0.1, 0.2, 0.7])[a])
    np.testing.assert_allclose(
        told.fitted(Space(3, 3, discrete=True)).action_probabilities(states), [[0.1, 0.2, 0.7]] * 2
    )
    silent = CallablePolicy(lambda o, rng: None, False).fitted(Space(3, 3, discrete=True))
    assert silent.action_probabilities(states) is None


def test_a_deterministic_choice_has_the_probabilities_0_and_1():
    choice = CallablePolicy(lambda o: o[:, 0].astype(int), deterministic=True)
    states = np.array([[0.0], [1.0]], np.float32)
    assert not choice.has_probabilities  # until it knows that the actions are discrete
    fitted = choice.fitted(Space(1, 2, discrete=True))
    assert fitted.has_probabilities
    np.testing.assert_array_equal(log_probs(fitted, states, np.array([0, 0])), [0.0, -np.inf])
    assert not choice.fitted(Space(1, 2, discrete=False)).has_probabilities


def test_a_function_may_answer_with_the_words_of_the_log():
    space = Space(1, 3, discrete=True, action_names=("none", "low", "high"))
    states, rng = np.array([[0.0], [1.0]], np.float32), np.random.default_rng(0)
    treat = CallablePolicy(lambda o: np.where(o[:, 0] > 0, "high", "none"), deterministic=True, name="treat")
    np.testing.assert_array_equal(treat.fitted(space).action_probabilities(states), [[1, 0, 0], [0, 0, 1]])
    listed = CallablePolicy(lambda o, rng: ["low"] * len(o), deterministic=False).fitted(space)
    np.testing.assert_array_equal(draw_actions(listed, states, 1, rng), [[1], [1]])
    numbers = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True).fitted(space)
    np.testing.assert_array_equal(draw_actions(numbers, states, 1, rng), [[2], [2]])
    odd = CallablePolicy(lambda o: ["double"] * len(o), deterministic=True, name="odd").fitted(space)
    with pytest.raises(UserError, match="policy odd: it gave action 'double', but the log has only none, low, high"):
        draw_actions(odd, states, 1, rng)
    with pytest.raises(UserError, match="the log's actions are integers, but it gave <U4"):
        draw_actions(treat.fitted(Space(1, 3, discrete=True)), states, 1, rng)
