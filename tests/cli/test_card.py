"""`ropeval card`: where it is written, and as what."""

import pytest

from ropeval.cli.main import main
from tests.report.outcomes import folder


def test_a_page_beside_the_run_or_words_elsewhere(tmp_path, capsys):
    run, words = str(folder(tmp_path / "run")), tmp_path / "card.md"
    for arguments, path in (([], tmp_path / "run/card.html"), (["--out", str(words)], words)):
        with pytest.raises(SystemExit) as left:
            main(["card", run, *arguments])
        assert left.value.code == 0
        assert capsys.readouterr().out.replace("\n", "") == f"written: {path}"
    assert (tmp_path / "run/card.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert words.read_text(encoding="utf-8").startswith("# ")


def test_no_run_is_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["card", str(tmp_path)])
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}")
    assert not list(tmp_path.iterdir())
