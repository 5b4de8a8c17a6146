"""Whether rows of two folders may stand in one table."""

import json

import pytest

from ropeval.bench.results.together import load_results
from ropeval.errors import UserError
from tests.bench.studies import hyper, row, runs, write_mine, write_published, write_study


@pytest.fixture
def published(tmp_path):
    return write_published(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"truth_discounted": 110.0}, "truth_discounted 110, an earlier folder has 100, more than 4 standard errors"),
        ({"random_mean_reward": 44.0}, "random_mean_reward 44"),
        ({"policy_sha256": "other"}, "policy_sha256 other, an earlier folder has policy: another question"),
        ({"gamma": 0.9}, "gamma 0.9, an earlier folder has 0.99: another question"),
    ],
)
def test_another_question_is_refused(published, tmp_path, changes, words):
    with pytest.raises(UserError, match=words):
        load_results([published, write_mine(tmp_path, **changes)])
    known = write_study(tmp_path / "known", [row("t", "fqe", 110.0, **changes)])  # nothing but runs that are there
    with pytest.raises(UserError, match=words):
        load_results([published, known])


def test_other_protocols_may_ask_another_question(published, tmp_path):
    results = load_results([published, write_mine(tmp_path, protocol="paper", gamma=0.9, truth_discounted=7.0)])
    assert dict(results.rows.group_by("protocol").len().iter_rows()) == {"standard": 4, "paper": 3}
    assert set(results.rows.filter(protocol="paper")["truth_discounted"]) == {7.0}


def test_methods_of_one_name_must_be_one_method(tmp_path):
    def study(name, seed, **config):
        return write_study(tmp_path / name, [row("t", "fqe", 100.0, seed, config=json.dumps(config))])

    first = study("a", 0, fqe={"steps": 300, "width": 8}, preset="paper", key=0)
    same = study("b", 1, fqe={"steps": 300, "width": 8, "new": 1}, preset="default", key=5, grid={"fqe.width": [8]})
    assert len(load_results([first, same]).rows) == 2
    with pytest.raises(UserError, match=r"fqe has fqe\.steps 20, in an earlier folder 300: two methods of one name"):
        load_results([first, study("c", 1, fqe={"steps": 20, "width": 8})])
    for config in (None, "no json", "[]"):  # what is unknown contradicts nothing
        folder = write_study(tmp_path / "d", [row("t", "fqe", 100.0, 1, config=config)])
        assert len(load_results([first, folder]).rows) == 2


def test_two_defaults_of_one_method_are_refused(tmp_path):
    first = write_study(tmp_path / "a", runs("t", "rope+fqe", [1.0], hyper=hyper(rope__beta=1.0)))
    with pytest.raises(
        UserError, match=r'rope\+fqe: the default setting is {}, in an earlier folder {"rope.beta": 1.0}'
    ):
        load_results([first, write_study(tmp_path / "b", runs("t", "rope+fqe", [1.0]))])


def test_trivial_estimates_may_have_been_resampled_more_often(tmp_path):
    def study(name, method, resamples):
        return write_study(tmp_path / name, [row("t", method, 100.0, config=json.dumps({"resamples": resamples}))])

    assert len(load_results([study("a", "mean-return", 4), study("b", "mean-return", 5)]).rows) == 1
    with pytest.raises(UserError, match="fqe has resamples 5, in an earlier folder 4"):
        load_results([study("c", "fqe", 4), study("d", "fqe", 5)])
