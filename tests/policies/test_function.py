"""Functions as policies."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import CallablePolicy, Space
from ropeval.policies.given import as_policy
from ropeval.policies.policy import draw_actions


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


def test_a_function_may_change_what_it_is_given():
    """Many normalise in place; the log must not notice."""

    def careless(observations):
        observations -= 1.0
        return observations

    states = np.ones((2, 1), np.float32)
    fitted = CallablePolicy(careless, deterministic=True).fitted(Space(1, 1, discrete=False))
    for _ in range(2):
        np.testing.assert_array_equal(draw_actions(fitted, states, 1, np.random.default_rng(0)), np.zeros((2, 1, 1)))
    np.testing.assert_array_equal(states, np.ones((2, 1)))


class Tensor:
    """As torch's, where it has a gradient."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda o: (np.zeros(len(o), int), None), r"it gave 2 things at once; .*model\.predict\(.*\)\[0\]"),
        (lambda o: None, "it gave nothing; does it lack a return"),
        (lambda o: Tensor(), "its answer, a Tensor, is no array .*detach"),
        (lambda o: [[0], [1, 2], [0]], "its answer, a list, is no array"),
        (lambda o: 1, r"actions of shape \(\); expected \(3,\); it is asked about all rows at once"),
        (lambda o: 1 if o[0] > 0 else 0, "it failed on .* it is asked about all rows at once"),
        (lambda o: np.full((len(o), 4), 0.25), "if these are probabilities, draw actions from them"),
        (lambda o: np.zeros(len(o)), r"integers, but it gave float64; return whole numbers"),
    ],
)
def test_answers_that_are_no_actions(answer, said):
    fitted = as_policy(answer).fitted(Space(2, 4, discrete=True))
    with pytest.raises(UserError, match=said):
        draw_actions(fitted, np.zeros((3, 2), np.float32), 1, np.random.default_rng(0))


def test_a_comparison_is_a_choice_of_two():
    fitted = as_policy(lambda o: o[:, 0] > 0).fitted(Space(1, 2, discrete=True))
    states = np.array([[-1.0], [1.0]], np.float32)
    np.testing.assert_array_equal(draw_actions(fitted, states, 1, np.random.default_rng(0)), [[0], [1]])


def test_a_function_whose_arguments_cannot_be_seen():
    with pytest.raises(UserError, match="wrap it in CallablePolicy"):
        as_policy(min)
