"""One call that ranks, and what it takes."""

import numpy as np
import pytest

import ropeval
from tests.problems import Chain

CHAIN = Chain(size=2, gamma=0.7)


@pytest.fixture(scope="module")
def log():
    return CHAIN.log(300, log_probs=True)


def right(observations):
    return np.ones(len(observations), int)


def test_policies_are_ranked_by_every_method(log):
    found = ropeval.compare(log, {"right": right, "dice": "uniform"}, ["mean-return", "wis"], gamma=0.7)
    assert [(e.policy, e.method) for e in found] == [
        ("right", "mean-return"), ("right", "wis"), ("dice", "mean-return"), ("dice", "wis"),
    ]  # fmt: skip
    (ranking,) = found.rankings  # the mean return of the log is the same for all
    assert (ranking.method, ranking.policies) == ("wis", ["right", "dice"])
    assert ranking.best[0] > 0.95
    rows = found.rows()
    assert len(found) == len(rows) == 4
    assert rows[1]["value"] == found.estimates[1].value == pytest.approx(CHAIN.values(1.0)[1], abs=0.06)
    assert rows[1]["low"] < rows[1]["value"] < rows[1]["high"]


def test_it_prints_what_the_terminal_prints(log):
    shown = repr(ropeval.compare(log, [right, "uniform"], "wis", gamma=0.7, truth={"right": 0.66, "uniform": 0.29}))
    for word in ("right", "uniform", "95% interval", "true", "probability of being the best", "spearman"):
        assert word in shown


def test_it_answers_as_evaluate_does(log):
    (alone,) = ropeval.compare(log, right, "wis", gamma=0.7, members=3)
    assert alone.value == ropeval.evaluate(log, right, "wis", gamma=0.7, members=3).value


def test_logs_and_policies_by_their_paths(log, tmp_path, monkeypatch):
    names = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    np.savez(tmp_path / "log.npz", **{name: getattr(log, name) for name in names})
    monkeypatch.chdir(tmp_path)
    by_path = ropeval.evaluate("log.npz", "uniform", "mean-return", gamma=0.7)
    assert by_path.value == ropeval.evaluate(log, right, "mean-return", gamma=0.7).value


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([right, right], {}, "two policies are named 'right'; give one another name"),
        (right, {"method": "fqe"}, "compare takes methods"),
        (right, {"methods": ["absent"]}, "unknown method 'absent'"),
        (right, {"gama": 0.5}, "unknown option 'gama'"),
        (right, {"truth": {"rihgt": 1.0}}, "truth: it holds no value for 'right'; found rihgt"),
        (right, {"columns": ["rewards=r"]}, "give them to load_dataset"),
    ],
)
def test_bad_questions(log, given, options, message):
    with pytest.raises(ropeval.UserError, match=message):
        ropeval.compare(log, given, **options)


def test_a_log_that_was_read_takes_no_columns(log):
    with pytest.raises(ropeval.UserError, match="has been read already"):
        ropeval.load_dataset(log, {"rewards": "r"})
    with pytest.raises(ropeval.UserError, match=r"absent\.npz: no such log"):
        ropeval.evaluate("absent.npz", right)
