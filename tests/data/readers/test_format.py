"""Formats of logs: each has its reader, and no two claim one ending."""

import pytest

from ropeval.data.readers import FORMATS


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.file)
def test_a_reader_recognises_no_empty_file_and_no_empty_folder(known, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    assert not known.reader.recognises(tmp_path / "empty", b"")
    assert not known.reader.recognises(tmp_path / "folder", b"")


def test_an_ending_is_one_formats():
    endings = [ending for known in FORMATS for ending in known.extensions]
    assert len(endings) == len(set(endings))
    assert all(ending.startswith(".") for ending in endings)
