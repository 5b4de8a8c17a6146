"""Words from files: cleaned for the screen, spelt out in JSON, bounded when they are read."""

import json

import pytest

from ropeval.errors import UserError
from ropeval.words import clean, read_text, spelt, writable

HOSTILE = "a\x1b[31m\x9b2J\u202eb\udcffc"


def test_what_a_terminal_would_obey_is_not_shown():
    assert clean(HOSTILE) == "a�[31m�2J�b�c"
    assert "\x1b" not in str(UserError(f"file: column {HOSTILE} is odd"))


def test_spelt_json_says_the_same_and_can_be_written():
    text = spelt(json.dumps({HOSTILE: "Ä"}, ensure_ascii=False))
    assert json.loads(text.encode().decode()) == {HOSTILE: "Ä"}
    assert clean(text) == text


def test_a_name_need_not_be_text():
    assert writable("Ä中")
    assert not writable("\udcff.npz")


def test_a_text_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 11)
    assert read_text(tmp_path / "file", 11) == "x" * 11
    with pytest.raises(ValueError, match="more than"):
        read_text(tmp_path / "file", 10)
