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


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3", "4.5"],
        ["1", "2", "3", "high"],
        ["", "", "7", "8"],
        ["", "", "low", "high"],
        ["low", "high", "3", "4"],
        ["true", "false", "true", "no"],
        ["2024-01-01", "2024-01-02", "never", "2024-01-03"],
        ["2024-01-01", "2024-01-02", "2024-01-03 10:00", "2024-01-04"],
        ["1", "2", "99999999999999999999", "4"],
    ],
)
def test_what_a_column_holds_is_what_all_its_rows_say(values, tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text("\n".join(["a,b", *(f"{value},1" for value in values)]))
    selected = []
    monkeypatch.setattr(csv, "from_table", lambda names, select, *_: selected.append(select(names)))
    for looked_at in (2, 100):
        monkeypatch.setattr(csv, "LOOKED_AT", looked_at)
        list(csv.read(tmp_path / "log.csv", {}))
    assert selected[0].equals(selected[1])
    assert selected[0].schema == selected[1].schema


def test_a_column_that_is_there_twice_is_not_chosen_among(tmp_path):
    path = logs.write_csv(tmp_path, logs.make_columns())
    content = path.read_text()
    path.write_text(content.replace("observations_1", "observations_0", 1))
    with pytest.raises(UserError, match="two columns are called observations_0"):
        load_dataset(path)
    path.write_text(content.replace("observations_1", "observations_00", 1))
    with pytest.raises(UserError, match="observations_0 and observations_00 are both number 0 of observations"):
        load_dataset(path)


# --- as other programs write it --------------------------------------------------------------------------------------


def visits(change=lambda text: text, encoding="utf-8"):
    return change(clinic().write_csv()).encode(encoding)


def german(text):
    """As Excel writes it where commas are decimal points."""
    return text.replace(",", ";").replace(".", ",")


@pytest.mark.parametrize(
    ("content", "noticed"),
    [
        (visits(german), "commas are decimal points here: 50,0 was read as a number"),
        (visits(german, "utf-8-sig"), "commas are decimal points"),
        (visits(lambda text: text.replace(",", "|")), ""),
        (visits(lambda text: "sep=;\n" + text.replace(",", ";")), ""),
        (visits(lambda text: "\n\n" + text), ""),
        (visits(lambda text: text.replace("\na", "\n\na") + "\n,,,,,,,\n"), "empty rows were left out"),
        (visits(lambda text: text.replace(",", ", ", 7)), ""),  # blanks between the names
        (visits(lambda text: text.replace("\n", "\r\n")), ""),
        (visits(lambda text: "\n".join(f'"{i}",{line}' for i, line in enumerate(text.splitlines()))), ""),  # R's own
    ],
)
def test_other_programs_write_the_same_table(tmp_path, content, noticed):
    expected = load_dataset(clinic(), parse_columns(MAPPING))
    (tmp_path / "visits.csv").write_bytes(content)
    found = load_dataset(tmp_path / "visits.csv", parse_columns(MAPPING))
    assert found.sha256 == expected.sha256
    assert noticed in " ".join(found.notices)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (visits(lambda text: text.replace("50.0", "50,0")), r"more cells than .* names.*\(1,5: write 1\.5\)"),
        (visits(lambda text: text.replace("50.0", "höher"), "latin-1"), "not in UTF-8; save it so"),
        (visits(lambda text: text.replace("age", "âge", 1), "latin-1"), "not in UTF-8; save it so"),
        (b"1,2,2,3\n1,2,2,3\n", "two columns are called 2; the first line must hold the names"),
    ],
)
def test_what_only_looks_like_a_table(tmp_path, content, said):
    (tmp_path / "visits.csv").write_bytes(content)
    with pytest.raises(UserError, match=said):
        load_dataset(tmp_path / "visits.csv", parse_columns(MAPPING))


@pytest.mark.parametrize("cells", [["1,250", "2,500"], ["1,5", "2.5"]])
def test_a_comma_that_may_be_either_is_no_decimal_point(tmp_path, cells):
    (tmp_path / "log.csv").write_text("\n".join(["a;b", *(f"{cell};1" for cell in cells)]))
    assert csv._layout(tmp_path / "log.csv").decimal_comma is None


def test_dates_that_may_be_read_either_way(tmp_path):
    path = tmp_path / "visits.csv"
    by_month = {"2024-01-01": "01/01/2024", "2024-01-02": "01/02/2024", "2024-01-03": "01/03/2024"}
    path.write_text(clinic().with_columns(day=clinic()["day"].replace(by_month)).write_csv())
    with pytest.raises(UserError, match=r"day holds dates such as 01/02/2024, .* whether the day or the month"):
        load_dataset(path, parse_columns(MAPPING))
    by_day = {"2024-01-01": "11/01/2024", "2024-01-02": "12/01/2024", "2024-01-03": "13/01/2024"}
    path.write_text(clinic().with_columns(day=clinic()["day"].replace(by_day)).write_csv())
    assert len(load_dataset(path, parse_columns(MAPPING))) == 4  # there is no month 13
