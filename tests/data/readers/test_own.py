"""ropeval's own folder, as a log among others."""

import pytest

from ropeval.data import Dataset, write_columns
from ropeval.data.readers import own
from ropeval.errors import UserError


def test_it_is_known_and_read_as_it_was_written(tmp_path, columns):
    assert not own.recognises(tmp_path, b"")
    write_columns(tmp_path / "log", columns)
    assert own.recognises(tmp_path / "log", b"")
    (log,) = own.read(tmp_path / "log", {})
    assert log.sha256 == Dataset.from_columns(columns).sha256


def test_its_names_are_its_own(tmp_path):
    with pytest.raises(UserError, match="ropeval's own form has its names"):
        next(own.read(tmp_path, {"rewards": ["r"]}))
