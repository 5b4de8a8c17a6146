"""Parquet: what a table can hold that text cannot."""

import polars
import pytest

from ropeval.data import Dataset, load_dataset
from ropeval.data.readers import parquet
from ropeval.errors import UserError
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


@pytest.mark.usefixtures("read_here")
def test_a_folder_is_one_table(tmp_path):
    """As Spark writes it, and Arrow, whose folders are named after values."""
    columns = logs.make_columns()
    expected = load_dataset(logs.write_parquet(tmp_path, columns))
    frame = logs.frame(columns)
    spark, arrow = tmp_path / "spark", tmp_path / "arrow"
    for part in range(3):
        (arrow / f"ward={part}").mkdir(parents=True)
        spark.mkdir(exist_ok=True)
        frame[4 * part : 4 * part + 4].write_parquet(spark / f"part-0000{part}.parquet")  # episodes cross the files
        frame[4 * part : 4 * part + 4].write_parquet(arrow / f"ward={part}" / "0.parquet")
    (spark / "_SUCCESS").touch()
    assert load_dataset(spark).sha256 == load_dataset(arrow).sha256 == expected.sha256
    with_ward = {"observations": ["observations_0", "ward"], "next_observations": ["observations_0", "ward"]}
    assert load_dataset(arrow, with_ward).observations[-1, 1] == 2
    (spark / "readme.txt").touch()
    with pytest.raises(UserError, match="this folder is no log"):
        load_dataset(spark)
