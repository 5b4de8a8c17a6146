"""Reading a folder of results: whole, partial, older, damaged."""

import json

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.report.run_page import read_outcome, run_page
from ropeval.report.run_page.outcome import Trace, findings, worst
from tests.report.outcomes import estimate, folder


def test_everything_that_was_written_is_read(tmp_path):
    outcome = read_outcome(folder(tmp_path), {"left": 9.0})
    assert outcome.policies == ["left", "right"]
    assert outcome.methods == ["mean-reward", "fqe", "rope+fqe"]
    assert outcome.about["gamma"] == 0.9
    assert outcome.rankings[0].best == [0.97, 0.03]
    assert [c.policy for c in outcome.coverage] == ["left", "right"]
    curve = outcome.curves[Trace("left", "fqe", "fqe", "estimate")]
    assert curve.steps.tolist() == [0, 50, 100]
    np.testing.assert_allclose(curve.values, [[0.1, 1.1], [5.1, 6.1], [10.1, 11.1]], rtol=1e-6)


@pytest.mark.parametrize("absent", ["run.json", "trust.json", "curves.parquet"])
def test_a_page_is_drawn_without_what_a_simpler_run_did_not_write(tmp_path, absent):
    (folder(tmp_path) / absent).unlink()
    assert "left would earn the most" in run_page(read_outcome(tmp_path)).html()


def test_results_from_before_the_diagnosis_keep_their_sentences(tmp_path):
    folder(tmp_path)
    rows = json.loads((tmp_path / "result.json").read_text())
    for row in rows:
        row.pop("interval")
        row.pop("diagnosis")
    (tmp_path / "result.json").write_text(json.dumps(rows))
    outcome = read_outcome(tmp_path)
    assert [f.message for f in findings(outcome.estimates[2])] == [
        "the representation collapsed; compare with mean-reward",
        "training had not settled; use more --steps",
    ]
    assert "members from 9.5 to 10.5" in run_page(outcome).html()


def test_the_worst_finding_decides():
    whole = {e.method: worst(e) for e in [estimate("p", "fqe", 1.0), estimate("p", "lspe", None)]}
    assert whole["lspe"] > whole["fqe"] == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("result.json", "[1]", "cannot be read as results"),
        ("result.json", "{", "cannot be read as results"),
        ("run.json", "[]", "expected an object"),
        ("trust.json", "{", "cannot be read as JSON"),
        ("trust.json", '{"ranking": [{"metod": 1}]}', "cannot be read as rankings"),
        ("trust.json", '{"ranking": [1]}', "cannot be read as rankings"),
        ("curves.parquet", "nonsense", "cannot be read as training curves"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, message):
    (folder(tmp_path) / name).write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        read_outcome(tmp_path)
    assert name in str(caught.value)


def test_an_unfinished_run_is_told_from_a_wrong_folder(tmp_path):
    with pytest.raises(UserError, match="give the folder"):
        read_outcome(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="--resume"):
        read_outcome(tmp_path)
