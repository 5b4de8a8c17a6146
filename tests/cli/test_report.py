"""`ropeval report`: the page again, beside the run or elsewhere."""

import pytest

from ropeval.cli.main import main
from tests.report.outcomes import folder


def report(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["report", *words])
    return int(left.value.code or 0)


def test_the_page_is_drawn_again_beside_the_run_or_elsewhere(tmp_path, capsys):
    run, elsewhere = folder(tmp_path / "run"), tmp_path / "p.html"
    assert report(str(run)) == 0
    assert report(str(run), "--out", str(elsewhere)) == 0
    assert capsys.readouterr().out.replace("\n", "").endswith(f"written: {elsewhere}")
    assert elsewhere.read_bytes() == (run / "report.html").read_bytes()


def test_no_run_is_one_line(tmp_path, capsys):
    assert report(str(tmp_path / "absent")) == 2
    assert "there is no result.json" in capsys.readouterr().err
