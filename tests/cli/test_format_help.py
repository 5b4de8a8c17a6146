"""Whatever a reader is registered for stands in `--help`, and in what is said of a file that none reads."""

import re

import pytest

from ropeval.cli.main import main
from ropeval.data import load_dataset, readers
from ropeval.errors import UserError
from ropeval.policies import load_policy
from ropeval.policies import readers as policy_readers


def without_breaks(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.fixture
def help_of(capsys):
    def shown(*words: str) -> str:
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        return without_breaks(capsys.readouterr().out)

    return shown


def test_logs(tmp_path, help_of):
    (tmp_path / "photo").write_bytes(b"\0\1\2")
    with pytest.raises(UserError) as caught:
        load_dataset(tmp_path / "photo")
    shown = [help_of("data", verb) for verb in ("info", "check", "convert")] + [help_of("evaluate")]
    for known in readers.FORMATS:
        assert known.about in str(caught.value)
        assert all(without_breaks(known.about) in text for text in shown)


def test_policies(help_of):
    with pytest.raises(UserError) as caught:
        load_policy("nonsense")
    shown = help_of("evaluate")
    for known in (*policy_readers.FORMATS, *policy_readers.WORDS):
        assert known.name in str(caught.value)
        assert without_breaks(known.about) in shown
