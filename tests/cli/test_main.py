"""The root of the command line: completion, and the verbs that only read a run."""

import os
import subprocess
import sys

import pytest

from ropeval.cli.main import main
from tests.report.outcomes import folder


@pytest.mark.parametrize(("typed", "found"), [("ropeval ca", "card"), ("ropeval evaluate --hor", "--horizon")])
def test_a_shell_completes_verbs_and_options(typed, found):
    words = {
        "_ROPEVAL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "ropeval"], env=os.environ | words, capture_output=True, text=True, timeout=120
    )
    assert found in done.stdout.split()


def test_a_card_is_written(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["card", str(folder(tmp_path))])
    assert left.value.code == 0
    assert (tmp_path / "card.html").exists()
    assert "card.html" in capsys.readouterr().out


def test_a_run_compared_with_itself_has_not_moved(tmp_path, capsys):
    path = str(folder(tmp_path))
    with pytest.raises(SystemExit):
        main(["compare", path, path])
    shown = capsys.readouterr().out
    assert shown.startswith("the same log, 6 estimates in both runs")
    with pytest.raises(SystemExit) as left:
        main(["compare", path, str(tmp_path / "nowhere")])
    assert left.value.code == 2
