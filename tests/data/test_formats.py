"""Logs of every format are recognised by their content and tell the same."""

import os
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ropeval.demo
from ropeval.data import Dataset, load_dataset, open_columns, write_columns
from ropeval.data.formats import recognise
from ropeval.data.readers import FORMATS, flat
from ropeval.data.writers import write_log
from ropeval.errors import UserError
from tests.data import logs


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("kind", ["npz", "d4rl", "minari", "parquet", "csv", "json"])
@pytest.mark.usefixtures("read_here")
def test_every_format_tells_the_same_log(tmp_path, kind, discrete):
    columns = logs.make_columns(discrete)
    expected = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    found = load_dataset(logs.WRITERS[kind](tmp_path, columns))
    assert found.sha256 == expected.sha256
    assert found.notices == ()


@pytest.mark.process
def test_a_format_is_known_by_its_content(tmp_path):
    columns = logs.make_columns()
    for kind, write in logs.WRITERS.items():
        path = write(tmp_path, columns)
        if path.is_file():
            renamed = path.rename(tmp_path / f"{kind}.bin")
            assert len(load_dataset(renamed)) == (10 if kind == "d3rlpy" else 12), kind


@pytest.mark.usefixtures("read_here")
def test_a_policy_in_the_place_of_the_log(tmp_path):
    policy = Path(ropeval.demo.__file__).parent / "policies" / "lazy.npz"
    unnamed = shutil.copy(policy, tmp_path / "lazy")
    for path in (policy, unnamed):
        with pytest.raises(UserError, match="this is a policy; the log comes first"):
            load_dataset(path)


@pytest.mark.parametrize("given", ["", "v1"])
def test_a_collected_task_says_where_its_log_is(tmp_path, given):
    write_columns(tmp_path / "v1" / "log", logs.make_columns())
    (tmp_path / "v1" / "truth.json").write_text("{}")
    with pytest.raises(UserError, match=re.escape(f"its log is {tmp_path / 'v1' / 'log'}")):
        load_dataset(tmp_path / given)


@pytest.mark.parametrize("kind", ["d4rl", "minari", "d3rlpy", "parquet"])
@pytest.mark.usefixtures("read_here")
def test_reading_in_parts_changes_nothing(tmp_path, monkeypatch, kind):
    columns = logs.make_columns()
    if kind == "parquet":
        del columns["episode_ids"], columns["time"]  # they may be in any order, so that all must be seen
    if kind in ("d4rl", "parquet"):
        del columns["next_observations"]
    path = logs.WRITERS[kind](tmp_path, columns)
    whole = load_dataset(path)
    for module in ("flat", "minari", "d3rlpy"):
        monkeypatch.setattr(f"ropeval.data.readers.{module}.PART", 5)
    source = recognise(path)
    assert len(list(source.parts({}))) == 2
    assert load_dataset(path).sha256 == whole.sha256
    assert load_dataset(path).notices == whole.notices
    assert load_dataset(path).labels == whole.labels
    write_log(source.parts({}), tmp_path / "columns", "columns")
    assert open_columns(tmp_path / "columns").sha256 == whole.sha256
    assert open_columns(tmp_path / "columns").notices == whole.notices
    assert flat.PART == 5


def test_a_folder_of_something_else(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(UserError, match=r"no log \(it holds cat.jpg\); ropeval reads a Minari dataset"):
        load_dataset(tmp_path / "photos")
    shutil.rmtree(tmp_path / "photos")
    with pytest.raises(UserError, match="no such log; check the path"):
        load_dataset(tmp_path / "photos")


@pytest.mark.usefixtures("read_here")
def test_a_name_is_not_a_pattern(tmp_path):
    """polars takes `log[1].csv` for a pattern, which means log1.csv."""
    columns = logs.make_columns()
    for kind, ending in (("csv", "csv"), ("parquet", "parquet"), ("npz", "npz"), ("d4rl", "hdf5")):
        for name, reward in ((f"log1.{ending}", 5.0), (f"log[1].{ending}", 777.0), (f"log*.{ending}", 3.0)):
            logs.WRITERS[kind](tmp_path, columns | {"rewards": np.full(12, reward)}).rename(tmp_path / name)
        assert load_dataset(tmp_path / f"log[1].{ending}").rewards[0] == 777, kind
        assert load_dataset(tmp_path / f"log*.{ending}").rewards[0] == 3, kind
    folder = tmp_path / "parts [1]"
    folder.mkdir()
    logs.write_npz(folder, columns)
    assert len(load_dataset(folder)) == 12


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX files")
def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log.npz")
    with pytest.raises(UserError, match="neither a file nor a folder"):
        load_dataset(tmp_path / "log.npz")
    with pytest.raises(UserError, match="no ordinary file"):
        load_dataset(tmp_path)
    own = tmp_path / "own"
    write_columns(own, {k: v for k, v in logs.make_columns().items() if k != "time"})
    (own / "rewards.npy").unlink()
    os.mkfifo(own / "rewards.npy")
    with pytest.raises(UserError, match=r"rewards\.npy: no ordinary file"):
        load_dataset(own)


# --- the registry ---------------------------------------------------------------------------------------------------


def examples(folder):
    """One log of every format, by the format's name."""
    columns = logs.make_columns()
    write_columns(folder / "own", {k: v for k, v in columns.items() if k != "time"})
    return {
        "Minari dataset": logs.write_minari(folder, columns),
        "HDF5": logs.write_d4rl(folder, columns),
        ".npz": logs.write_npz(folder, columns),
        "Parquet": logs.write_parquet(folder, columns),
        "CSV": logs.write_csv(folder, columns),
        "JSON": logs.write_json(folder, columns),
        "ropeval's own folder": folder / "own",
    }


def test_every_format_is_recognised_by_its_own_reader(tmp_path):
    found = examples(tmp_path)
    assert set(found) == {known.name for known in FORMATS}
    for name, path in found.items():
        assert recognise(path).format.name == name
        assert path.is_dir() or path.suffix in recognise(path).format.extensions


@pytest.mark.parametrize("ending", [e for known in FORMATS if not known.guessed for e in known.extensions])
@pytest.mark.usefixtures("read_here")
def test_an_ending_tells_who_says_what_is_wrong(tmp_path, ending):
    """A page that says "not found", saved under the name of a log. It has a comma, but it is no CSV."""
    path = tmp_path / f"log{ending}"
    path.write_bytes(b"<html>404, not found</html>")
    with pytest.raises(UserError, match="damaged or cut short"):
        load_dataset(path)


def test_the_page_on_formats_has_a_row_for_each():
    page = Path(__file__).resolve().parents[2] / "docs" / "start" / "formats.md"
    rows = re.search(r"\| LOG \|.*?\n\n", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    for known in FORMATS:
        assert known.name in rows


# --- what people hand over instead ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.csv", b"", "the file is empty"),
        ("log.csv.gz", b"\x1f\x8b\x08", "packed with gzip; unpack it first"),
        ("log.pkl", b"\x80\x04\x95", "a pickle, which is a program and is not run; .* to_parquet"),
        ("log.npy", b"\x93NUMPY\x01", "a single array; .*np.savez"),
        ("log.feather", b"ARROW1\0\0", "Feather.*to_parquet"),
        ("log.db", b"SQLite format 3\0", "a database; export the table"),
        ("log.txt", "a,b\n1,2".encode("utf-16"), "UTF-16; save it as UTF-8"),
        ("log.csv", b"# exported by hand\na,b\n", "its first line is '# exported by hand'; it must hold the names"),
        ("log.XLSX", b"PK\x03\x04", "an Excel workbook; save the sheet as CSV UTF-8"),
    ],
)
def test_what_is_no_log_says_what_it_is(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        load_dataset(tmp_path / name)


def test_a_zip_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as file:
        file.writestr("visits.csv", "a,b")
    with pytest.raises(UserError, match=r"this zip holds no arrays, but visits\.csv; unpack it"):
        load_dataset(tmp_path / "log.zip")


def test_a_folder_of_csv_says_how_to_make_one_file_of_it(tmp_path):
    logs.write_csv(tmp_path, logs.make_columns())
    with pytest.raises(UserError, match=r"a folder of CSV; make one file of it: polars\.read_csv"):
        load_dataset(tmp_path)
