"""Formats of policies: words reach the reader that is meant, and no two formats claim one ending."""

import pytest

from ropeval.policies.readers import FORMATS, WORDS


@pytest.mark.parametrize(
    ("text", "file"), [("uniform:-1,1", "uniform"), ("package.module:name", "python"), ("./mine.py:act", "python")]
)
def test_the_first_that_recognises_a_word_is_the_one_that_is_meant(text, file):
    assert next(known.file for known in WORDS if known.reader.recognises(text)) == file


def test_a_path_is_no_word():
    assert not any(known.reader.recognises("policies/best.npz") for known in WORDS)


def test_an_ending_is_one_formats():
    endings = [ending for known in FORMATS for ending in known.extensions]
    assert len(endings) == len(set(endings))
