"""The working form: what is written comes back, mapped and not copied, and a damaged folder is refused by name."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ropeval.data import ColumnsWriter, Dataset, load_dataset, open_columns, read_metadata, write_columns
from ropeval.data.columns import DTYPES
from ropeval.errors import UserError
from ropeval.files import release
from tests.data import logs
from tests.problems import Chain, LinearQuadratic


@pytest.fixture
def folder(tmp_path, columns):
    write_columns(tmp_path / "log", columns | {"log_probs": -np.ones(12)}, {"task": "made up", "seed": 3})
    return tmp_path / "log"


def test_what_is_written_comes_back_mapped(folder, columns):
    log = load_dataset(folder)
    assert log.sha256 == Dataset.from_columns(columns | {"log_probs": -np.ones(12)}).sha256
    assert all(isinstance(getattr(log, name), np.memmap) for name in DTYPES)
    assert read_metadata(folder) == {"task": "made up", "seed": 3}
    assert sorted(p.name for p in folder.parent.iterdir()) == ["log"]  # nothing temporary is left


def test_discrete_actions_and_their_number_come_back(tmp_path):
    chain = Chain().log(20)
    write_columns(tmp_path / "log", chain)
    back = open_columns(tmp_path / "log")
    assert (back.sha256, back.num_actions) == (chain.sha256, 2)


def test_parts_appended_are_the_parts_joined(tmp_path):
    lq = LinearQuadratic()
    parts = [lq.log(3, log_probs=True), lq.log(1, seed=1, log_probs=True), lq.log(5, seed=2, log_probs=True)]
    with ColumnsWriter(tmp_path / "log") as writer:
        for part in parts:
            writer.append(part)
    assert open_columns(tmp_path / "log").sha256 == Dataset.concatenate(parts).sha256


def test_probabilities_of_some_parts_only_are_left_out(tmp_path):
    lq = LinearQuadratic()
    parts = [lq.log(3, log_probs=True), lq.log(2, seed=1), lq.log(2, seed=2, log_probs=True)]
    with ColumnsWriter(tmp_path / "log") as writer:
        for part in parts:
            writer.append(part)
    back = open_columns(tmp_path / "log")
    assert back.log_probs is None
    assert back.sha256 == Dataset.concatenate(parts).sha256
    assert not (tmp_path / "log" / "log_probs.npy").exists()


def test_an_interrupted_writing_leaves_nothing_and_keeps_what_was_there(folder):
    before = load_dataset(folder).sha256

    def write():
        with ColumnsWriter(folder) as writer:
            writer.append(LinearQuadratic().log(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert load_dataset(folder).sha256 == before
    assert sorted(p.name for p in folder.parent.iterdir()) == ["log"]


def test_a_log_is_replaced_but_nothing_else_is(folder, tmp_path):
    other = LinearQuadratic().log(2)
    write_columns(folder, other)
    assert load_dataset(folder).sha256 == other.sha256
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(UserError, match="choose another name"):
        write_columns(tmp_path / "photos", other)
    assert (tmp_path / "photos" / "cat.jpg").exists()


def test_released_pages_come_back(folder):
    log = load_dataset(folder)
    before = log.observations.copy()
    release(log.observations)
    np.testing.assert_array_equal(log.observations, before)


def edit_index(change):
    def spoil(folder):
        path = folder / "columns.json"
        about = json.loads(path.read_text())
        change(about)
        path.write_text(json.dumps(about))

    return spoil


def save(name, change):
    """Replace a column, and declare the new shape, so that the check behind the declaration is reached."""

    def spoil(folder):
        array = change(np.load(folder / f"{name}.npy"))
        np.save(folder / f"{name}.npy", array)
        edit_index(lambda a: a["columns"].update({name: {"shape": list(array.shape), "dtype": str(array.dtype)}}))(
            folder
        )

    return spoil


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def cut(folder):
    path = folder / "observations.npy"
    path.write_bytes(path.read_bytes()[:-8])


def odd_header(folder):
    path = folder / "rewards.npy"
    path.write_bytes(path.read_bytes().replace(b"'descr'", b"b'escr'"))  # a key that NumPy cannot sort


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (odd_header, "rewards.npy: cannot be read"),
        (lambda f: (f / "columns.json").write_text("{"), "columns.json: cannot be read"),
        (lambda f: (f / "columns.json").write_text("[" * 100_000), "columns.json: cannot be read"),
        (lambda f: (f / "columns.json").write_text("[]"), "not the index"),
        (edit_index(lambda a: a.update(version=2)), "version 2"),
        (edit_index(lambda a: a.pop("notices")), "cannot be read"),
        (edit_index(lambda a: a.update(num_actions="many")), "cannot be read"),
        (edit_index(lambda a: a["columns"].pop("rewards")), "misses rewards"),
        (edit_index(lambda a: a["columns"].update({"../secret": {}})), "unknown column '../secret'"),
        (lambda f: (f / "rewards.npy").unlink(), "rewards.npy: cannot be read"),
        (cut, "observations.npy: cannot be read, damaged or cut short?"),
        (lambda f: np.save(f / "rewards.npy", np.zeros(11, np.float32)), "rewards.npy: holds"),
        (lambda f: np.save(f / "rewards.npy", np.array([object()])), "rewards.npy: cannot be read"),
        (save("rewards", lambda a: a.astype(np.float64)), "rewards.npy: holds"),
        (save("rewards", lambda a: a[:11]), "do not fit together"),
        (save("starts", lambda a: np.array(3)), "do not fit together"),
        (save("initial_observations", lambda a: a[:, :2]), "do not fit together"),
        (save("starts", put(1, 9)), "starts.npy does not lead from 0 to 12"),
        (save("observations", put((5, 1), np.nan)), "observations is"),
        (save("actions", lambda a: np.full(12, 3, np.int32)), "num_actions is None"),
        (lambda f: [save(n, lambda a: a[:0])(f) for n in ("rewards", "starts")], "do not fit"),
    ],
)
def test_damaged_folders_are_refused_by_name(folder, spoil, message):
    spoil(folder)
    with pytest.raises(UserError) as caught:
        load_dataset(folder)
    assert message in str(caught.value)
    assert str(folder) in str(caught.value)


def test_discrete_actions_must_be_below_their_number(tmp_path):
    write_columns(tmp_path / "log", Chain().log(20))
    edit_index(lambda a: a.update(num_actions=1))(tmp_path / "log")
    with pytest.raises(UserError, match="actions go from 0 to 1"):
        open_columns(tmp_path / "log")


def test_nothing_to_write_is_refused(tmp_path):
    with pytest.raises(UserError, match="no episodes"), ColumnsWriter(tmp_path / "log"):
        pass
    assert not any(tmp_path.iterdir())


def test_names_come_back(tmp_path):
    log = Dataset.from_columns(logs.make_columns(discrete=True)).named(["age", "dose", "speed"], ["off", "on", "fast"])
    write_columns(tmp_path / "log", log)
    found = open_columns(tmp_path / "log")
    assert found.labels == (["age", "dose", "speed"], ["off", "on", "fast"])
    index = tmp_path / "log" / "columns.json"
    about = json.loads(index.read_text())
    for names, message in (
        ({"observations": ["age"]}, "1 names for observations of 3"),
        ({"actions": ["off", "off", "on"]}, "a name of its own"),
        ({"actions": 3}, "cannot be read, damaged"),
        ("age", "cannot be read, damaged"),
    ):
        index.write_text(json.dumps(about | {"names": names}))
        with pytest.raises(UserError, match=message):
            open_columns(tmp_path / "log")
    del about["names"]  # as older versions wrote it
    index.write_text(json.dumps(about))
    assert open_columns(tmp_path / "log").labels[1] == ["action 0", "action 1", "action 2"]


@pytest.mark.process
def test_a_full_disk_is_noticed_however_little_is_written(tmp_path):
    """Found by the torture: NumPy's `tofile` says nothing, and a log cut short was put into place."""
    program = (
        "import resource, signal; from ropeval.data import write_columns; from tests.data import logs\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (140, -1))\n"
        "write_columns('log', {k: v for k, v in logs.make_columns().items() if k != 'time'})"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "the disk is full" in done.stderr
    assert not list(tmp_path.iterdir())
