"""The comparison with other libraries: what they are handed, and how errors are told. They themselves are not here."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import peers
from benchmarks.peer_fqe import Question

from ropeval.errors import UserError
from tests.problems import Chain


def judged(value, split="dev"):
    truth = SimpleNamespace(discounted=SimpleNamespace(value=value))
    return SimpleNamespace(policy=Chain.policy(0.8), truth=truth, split=split)


def test_errors_are_of_dev_policies_in_percent_of_the_range_of_all(monkeypatch):
    policies = {"a": judged(1.0), "b": judged(3.0), "c": judged(5.0, "test")}
    monkeypatch.setattr(peers, "load_task", lambda name, data: SimpleNamespace(judged=policies))
    monkeypatch.setattr(
        peers, "ours", lambda *given: [{"library": "ropeval", "method": "fqe", "value": 2.0, "cpu": 1.5, "clock": 2.0}]
    )
    monkeypatch.setattr(peers, "theirs", lambda *given: [{"library": "other", "method": "all", "reason": "not there"}])
    rows = peers.compare("t", Path(), Path(), 10, policies=3)
    assert [row["errors"] for row in rows] == [[25.0, -25.0], [None, None]]
    assert (rows[0]["cpu"], rows[0]["clock"]) == (3.0, 4.0)
    cells = [[cell.text for cell in row] for row in peers.table(rows, "t").cells()]
    assert cells == [["ropeval", "fqe", "+25.0, -25.0", "3", "4", ""], ["other", "all", "–, –", "0", "0", "not there"]]


def test_the_question_holds_the_log_and_the_policy(tmp_path, monkeypatch):
    chain = Chain()
    task = SimpleNamespace(name="chain", gamma=0.9)
    asked = []

    def run(command, **given):
        asked.append(Question(str(command[3])))
        return SimpleNamespace(returncode=0, stdout="noise\n[]\n")

    monkeypatch.setattr("benchmarks.peers.subprocess.run", run)
    log = chain.log(4, length=6, log_probs=True)
    assert peers.theirs(SimpleNamespace(dataset=log, task=task), judged(1.0), 10, Path("python")) == []
    (question,) = asked
    np.testing.assert_allclose(question.policy, np.tile([0.2, 0.8], (len(log), 1)))
    np.testing.assert_allclose(question.behaviour, 0.5)
    padded = question.padded(question.rewards, 7.0)
    assert padded.shape == (4, question.longest)
    for e, row in enumerate(padded):
        first, end = log.starts[e : e + 2]
        np.testing.assert_array_equal(row[: end - first], log.rewards[first:end])
        assert (row[end - first :] == 7.0).all()
    with pytest.raises(UserError, match="propensities"):
        peers.theirs(SimpleNamespace(dataset=replace(log, log_probs=None), task=task), judged(1.0), 10, Path("python"))
