"""Two runs side by side."""

import json
from dataclasses import replace

import pytest

from ropeval.errors import UserError
from ropeval.evaluation.compare_runs import compare_runs
from ropeval.evaluation.result import Interval
from ropeval.evaluation.result_folder import results_json
from tests.report.outcomes import estimate

ABOUT = {
    "log": "a.npz", "gamma": 0.9, "policies": [{"name": "p", "kind": "x", "sha256": "1"}],
    "methods": {"fqe": {"fqe": {"steps": 10}}},
}  # fmt: skip


def run(path, results, **about):
    path.mkdir()
    (path / "result.json").write_text(results_json(results))
    (path / "run.json").write_text(json.dumps(ABOUT | about))
    return path


def fqe(value, half, policy="p"):
    interval = Interval(value - half, value + half, 0.95, "t", 5, 10)
    return replace(estimate(policy, "fqe", value), interval=interval)


def test_the_difference_has_both_runs_luck(tmp_path):
    found = compare_runs(run(tmp_path / "a", [fqe(10.0, 3.0)]), run(tmp_path / "b", [fqe(12.0, 4.0)]))
    (change,) = found.changes
    assert (change.difference, change.low, change.high) == (2.0, -3.0, 7.0)  # 3 and 4 make 5
    assert found.same_log
    assert found.differences == []


def test_what_was_asked_otherwise_is_told(tmp_path):
    old = run(tmp_path / "a", [fqe(10.0, 1.0), estimate("p", "wis", 1.0), estimate("q", "fqe", None)])
    other = [replace(e, data_sha256="cd" * 32) for e in (fqe(10.0, 1.0), estimate("q", "fqe", 2.0))]
    new = run(
        tmp_path / "b", other, log="b.npz", gamma=1.0, policies=[{"name": "p", "kind": "x", "sha256": "2"}],
        methods={"fqe": {"fqe": {"steps": 20}}},
    )  # fmt: skip
    found = compare_runs(old, new)
    assert not found.same_log
    assert found.differences == [
        "the logs differ: a.npz before, b.npz after",
        "p is another policy under the same name",
        "only before: p by wis",
        "gamma: 0.9 before, 1.0 after",
        "fqe.steps of fqe: 10 before, 20 after",
    ]
    diverged = found.changes[1]
    assert (diverged.before, diverged.after, diverged.difference) == (None, 2.0, None)
    assert json.loads(json.dumps(found.to_json()))["changes"][1]["after"] == 2.0


def test_runs_with_nothing_in_common_are_refused(tmp_path):
    with pytest.raises(UserError, match="p by fqe there, z by fqe here; nothing can be compared"):
        compare_runs(run(tmp_path / "a", [fqe(1.0, 1.0)]), run(tmp_path / "b", [fqe(1.0, 1.0, policy="z")]))
    with pytest.raises(UserError, match=r"no result\.json"):
        compare_runs(tmp_path / "a", tmp_path / "nowhere")
