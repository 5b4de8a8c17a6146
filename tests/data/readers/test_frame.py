"""Logs that are tables in memory."""

import numpy as np
import pandas
import polars
import pytest

from ropeval.data import load_dataset
from ropeval.errors import UserError
from tests.data import logs
from tests.data.readers.test_table import clinic

MAPPING = {
    "observations": ["age", "bp*"], "actions": "drug", "rewards": "score", "terminations": "died",
    "episode_ids": "patient", "time": "day",
}  # fmt: skip


def as_pandas(frame):
    return pandas.DataFrame(frame.to_dict(as_series=False))


TABLES = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": as_pandas,
    "pandas, dates and categories": lambda frame: as_pandas(frame).assign(
        day=lambda f: pandas.to_datetime(f["day"]), drug=lambda f: f["drug"].astype("category")
    ),
    "rows": lambda frame: frame.to_dicts(),
    "columns": lambda frame: {name: frame[name].to_list() for name in frame.columns},
}


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_in_memory_is_the_log_of_its_file(tmp_path, kind):
    clinic().write_parquet(tmp_path / "visits.parquet")
    log = load_dataset(TABLES[kind](clinic()), MAPPING)
    assert log.sha256 == load_dataset(tmp_path / "visits.parquet", MAPPING).sha256
    assert log.labels == (["age", "bp9", "bp10"], ["high", "low", "none"])


def test_vectors_in_a_dict_need_no_mapping():
    columns = {name: values for name, values in logs.make_columns().items() if name != "time"}
    log = load_dataset(columns)
    np.testing.assert_array_equal(log.observations, columns["observations"])
    np.testing.assert_array_equal(log.actions, columns["actions"])
    assert log.labels[0] == ["observations[0]", "observations[1]", "observations[2]"]


def test_a_missing_cell_of_pandas_is_refused_by_its_row():
    frame = as_pandas(clinic())
    with pytest.raises(UserError, match=r"observations is nan at row 3, column 0"):
        load_dataset(frame.assign(age=frame["age"].where(frame["age"] != 32.0)), MAPPING)
    with pytest.raises(UserError, match=r"drug \(actions\) is empty in 1 rows"):
        load_dataset(frame.assign(drug=frame["drug"].where(frame["drug"] != "high")), MAPPING)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, "found int; give a path, a frame"),
        ([], "found list; give a path"),
        ([1, 2], "found list; give a path"),
        ({"a": [1, 2], "b": [1]}, "this dict cannot be taken as a table"),
        (polars.DataFrame({"a": [1]}), "missing observations, actions, rewards, terminations, truncations; found a"),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called a"),
        (clinic().clear(), "the table has no rows"),
    ],
)
def test_what_is_no_table(table, message):
    with pytest.raises(UserError, match=message):
        load_dataset(table, MAPPING if isinstance(table, polars.DataFrame) and "age" in table.columns else None)
