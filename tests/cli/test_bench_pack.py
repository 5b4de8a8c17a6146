"""`ropeval bench pack`: says what became of the files; the rows are the same."""

import pytest

from ropeval.bench.results.rows import load_rows
from ropeval.cli.main import main
from tests.bench.studies import runs, write_study


def test_a_study_in_fewer_files(tmp_path, capsys):
    folder = write_study(tmp_path / "study", [*runs("a/b", "fqe", [1.0, 2.0]), *runs("a/b", "wis", [3.0])])
    before = load_rows(folder)
    with pytest.raises(SystemExit) as left:
        main(["bench", "pack", str(folder)])
    assert left.value.code == 0
    said = capsys.readouterr().out.replace("\n", "")
    many, few = (int(word) for word in said.removeprefix(f"{folder}: ").split() if word.isdecimal())
    assert many > few == len([path for path in (folder / "units").iterdir() if path.is_file()])
    keys = ["method", "seed"]
    assert load_rows(folder).sort(keys).equals(before.sort(keys))


def test_what_is_no_study_is_left_alone(tmp_path, capsys):
    (tmp_path / "units").mkdir()
    with pytest.raises(SystemExit) as left:
        main(["bench", "pack", str(tmp_path)])
    assert left.value.code == 2
    assert "no study" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["units"]
