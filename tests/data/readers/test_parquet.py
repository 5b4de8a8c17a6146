"""Parquet: what a table can hold that text cannot."""

import polars
import pytest

from ropeval.data import Dataset, load_dataset
from ropeval.data.readers import parquet
from tests.data import logs


def test_it_is_known_by_its_mark(tmp_path):
    assert parquet.recognises(tmp_path / "log.csv", b"PAR1...")
    assert not parquet.recognises(tmp_path / "log.parquet", b"PAR")


@pytest.mark.usefixtures("read_here")
def test_lists_in_parquet_are_vectors(tmp_path):
    columns = logs.make_columns()
    table = {k: v.tolist() if v.ndim == 2 else v for k, v in columns.items()}
    polars.DataFrame(table).write_parquet(tmp_path / "log.parquet")
    expected = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    assert load_dataset(tmp_path / "log.parquet").sha256 == expected.sha256


def test_a_name_with_a_star_is_no_pattern(tmp_path):
    for name in ("log*.parquet", "log2.parquet"):
        logs.frame(logs.make_columns()).write_parquet(tmp_path / name)
    assert len(*parquet.read(tmp_path / "log*.parquet", {})) == 12
