"""Formats of policies: each has its reader, which leaves what is others' to them."""

import pytest

from ropeval.policies.readers import FORMATS, WORDS


@pytest.mark.parametrize("known", WORDS, ids=lambda known: known.file)
def test_a_word_is_known_by_one_reader(known):
    said = {"uniform": "uniform:-1,1", "python": "package.module:name"}
    assert {file: known.reader.recognises(text) for file, text in said.items()} == {
        file: file == known.file for file in said
    }


def test_an_ending_is_one_formats():
    endings = [ending for known in FORMATS for ending in known.extensions]
    assert len(endings) == len(set(endings))
