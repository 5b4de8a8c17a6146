"""`ropeval compare`: in words, and as JSON."""

import json
import shutil

import pytest

from ropeval.cli.main import main
from tests.report.outcomes import folder


def compare(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["compare", *words])
    return int(left.value.code or 0)


def test_a_run_compared_with_itself_has_not_moved(tmp_path, capsys):
    path = str(folder(tmp_path))
    assert compare(path, path) == 0
    assert capsys.readouterr().out.startswith("the same log, 6 estimates in both runs")
    assert compare(path, str(tmp_path / "nowhere")) == 2


def test_how_far_estimates_moved_as_json(tmp_path, capsys):
    before, after = folder(tmp_path / "before"), tmp_path / "after"
    shutil.copytree(before, after)
    rows = json.loads((after / "result.json").read_text(encoding="utf-8"))
    rows[0]["value"] += 3.0
    (after / "result.json").write_text(json.dumps(rows), encoding="utf-8")
    assert compare(str(before), str(after), "--json") == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [change["difference"] for change in changes] == pytest.approx([3.0] + [0.0] * 5)
