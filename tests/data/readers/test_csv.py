"""CSV: separators, types and names, none of them guessed wrongly."""

import pytest

from ropeval.data import load_dataset
from ropeval.data.column_names import parse_columns
from ropeval.data.readers import csv
from ropeval.errors import UserError
from tests.data import logs
from tests.data.readers.test_table import MAPPING, clinic


@pytest.mark.parametrize(
    ("start", "is_csv"),
    [(b"a,b\n1,2", True), (b"a;b", True), (b"a\tb\n", True), (b"a\n1,2", False), (b"", False), (b"a,b\0", False)],
)
def test_it_is_text_with_separators_in_its_first_line(tmp_path, start, is_csv):
    assert csv.recognises(tmp_path / "log", start) is is_csv


def test_semicolons_are_seen(tmp_path):
    path = tmp_path / "visits.csv"
    clinic().write_csv(path, separator=";")
    assert len(load_dataset(path, parse_columns(MAPPING))) == 4


def test_integers_for_long_and_then_a_fraction(tmp_path):
    """A type is not guessed from the first rows."""
    steps = 12_000
    names = ["observations_0", "observations_1", "actions_0", "actions_1", "rewards", "terminations", "truncations"]
    rows = [",".join(names), *(f"{i},1,2,3,0,0,0" for i in range(steps - 1)), "0.5,1,2,3,0.25,1,0"]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    log = load_dataset(tmp_path / "log.csv")
    assert (len(log), log.observations[-1, 0], log.rewards[-1]) == (steps, 0.5, 0.25)


def test_a_column_that_is_there_twice_is_not_chosen_among(tmp_path):
    path = logs.write_csv(tmp_path, logs.make_columns())
    content = path.read_text()
    path.write_text(content.replace("observations_1", "observations_0", 1))
    with pytest.raises(UserError, match="two columns are called observations_0"):
        load_dataset(path)
    path.write_text(content.replace("observations_1", "observations_00", 1))
    with pytest.raises(UserError, match="observations_0 and observations_00 are both number 0 of observations"):
        load_dataset(path)
