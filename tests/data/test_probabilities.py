"""Probabilities of logged actions are understood under their names, and never taken for their logarithms."""

import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.data.column_names import parse_columns
from ropeval.errors import UserError
from tests.data.test_quality import longer

PROBABILITIES = np.linspace(0.05, 1.0, 300)


def saved(tmp_path, discrete=True, **columns):
    both = longer() | ({"actions": np.arange(300) % 4} if discrete else {}) | columns
    np.savez(tmp_path / "log.npz", **both)
    return tmp_path / "log.npz"


@pytest.mark.parametrize("name", ["pscore", "propensity", "propensities", "action_prob", "action_probability"])
def test_probabilities_become_logarithms_and_a_notice_says_so(tmp_path, name):
    log = load_dataset(saved(tmp_path, **{name: PROBABILITIES}))
    np.testing.assert_allclose(log.log_probs, np.log(PROBABILITIES), atol=1e-6)
    assert "their logarithms are used" in " ".join(log.notices)


def test_log_probs_that_are_given_win(tmp_path):
    log = load_dataset(saved(tmp_path, pscore=PROBABILITIES, log_probs=np.full(300, -2.0)))
    np.testing.assert_array_equal(log.log_probs, -2.0)
    assert log.notices == ()


def test_probabilities_of_all_actions_are_not_those_of_the_logged_one(tmp_path):
    assert load_dataset(saved(tmp_path, action_prob_0=PROBABILITIES, action_prob_1=PROBABILITIES)).log_probs is None


def test_probabilities_called_log_probs_are_refused_with_advice(tmp_path):
    path = saved(tmp_path, log_probs=PROBABILITIES)
    with pytest.raises(
        UserError, match=r"between 0.05 and 1; these are probabilities, .* call the column propensities"
    ):
        load_dataset(path)
    mended = load_dataset(path, parse_columns(["propensities=log_probs"]))
    np.testing.assert_allclose(mended.log_probs, np.log(PROBABILITIES), atol=1e-6)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"log_probs": np.append(np.full(299, -1.0), 0.7)}, "log_probs is 0.7 at row 299; .* at most 0"),
        ({"log_probs": np.append(np.full(299, -1.0), np.nan)}, "log_probs is nan at row 299"),
        ({"pscore": np.append(np.full(299, 0.5), 1.5)}, "propensities is 1.5 at row 299; .* at most 1"),
        ({"pscore": np.append(np.full(299, 0.5), 0.0)}, "propensities is 0 at row 299; .* more than 0"),
        ({"pscore": np.full(300, -0.5)}, "logarithms belong into log_probs"),
    ],
)
def test_what_cannot_be_a_probability_is_refused(tmp_path, columns, words):
    with pytest.raises(UserError, match=words):
        load_dataset(saved(tmp_path, **columns))


def test_densities_may_be_any_size(tmp_path):
    log = load_dataset(saved(tmp_path, discrete=False, pscore=np.full(300, 3.0)))
    np.testing.assert_allclose(log.log_probs, np.log(3.0), atol=1e-6)
    np.testing.assert_array_equal(load_dataset(saved(tmp_path, discrete=False, log_probs=np.ones(300))).log_probs, 1.0)


def test_a_certain_behaviour_has_log_probs_of_zero(tmp_path):
    np.testing.assert_array_equal(load_dataset(saved(tmp_path, log_probs=np.zeros(300))).log_probs, 0.0)
