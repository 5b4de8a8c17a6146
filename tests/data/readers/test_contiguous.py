"""HDF5 that lies in one piece is mapped where it is, and comes out as libhdf5 would have read it."""

import json

import h5py
import numpy as np
import pytest

from ropeval.data import guarded_read, load_dataset
from ropeval.data.columns import INDEX, ColumnsWriter, open_columns
from ropeval.data.dataset import STEPS
from ropeval.data.formats import recognise
from ropeval.data.mapping import place_of
from ropeval.data.readers import flat
from ropeval.data.readers.contiguous import mapped_column
from ropeval.errors import UserError
from ropeval.files import mapping_of
from tests.data import logs

ALIKE: list[tuple[str, dict[str, object]]] = [("<f4", {}), ("<f8", {}), ("<i4", {}), ("<i8", {})]
TRANSLATED: list[tuple[str, dict[str, object]]] = [
    (">f4", {}), ("<f2", {}), ("<u1", {}), ("?", {}), ("<f4", {"chunks": (2, 3)}), ("<f4", {"compression": "gzip"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "how"), [*ALIKE, *TRANSLATED])
def test_what_is_mapped_is_what_libhdf5_reads(tmp_path, kind, how):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["before"] = np.arange(7, dtype="u1")  # so that the next one begins anywhere
        file.create_dataset("column", data=np.arange(12).reshape(4, 3) - 5, dtype=kind, **how)
    with h5py.File(tmp_path / "a.h5") as file:
        found = mapped_column(file["column"])
        assert (found is None) == ((kind, how) in TRANSLATED)
        if found is not None:
            assert found.dtype == file["column"].dtype
            np.testing.assert_array_equal(found, file["column"][()])


def test_what_is_empty_or_never_written_or_behind_something_else_is_left_to_libhdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512) as file:
        file["behind"] = np.ones(4, np.float32)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["empty"] = np.ones((0, 2), np.float32)
        file.create_dataset("unwritten", (5, 2), "f4")
    with h5py.File(tmp_path / "a.h5") as first, h5py.File(tmp_path / "b.h5") as second:
        assert [mapped_column(column) for column in (first["behind"], second["empty"], second["unwritten"])] == [
            None
        ] * 3


def many_columns(successors: bool) -> logs.Columns:
    """Forty episodes of five steps: the later half is cut off."""
    rng, ends = np.random.default_rng(3), np.tile(np.arange(5) == 4, 40)
    columns = {
        "observations": rng.standard_normal((200, 3)).astype(np.float32),
        "actions": rng.uniform(-1, 1, (200, 2)).astype(np.float32),
        "rewards": rng.standard_normal(200).astype(np.float32),
        "terminations": ends & (np.arange(200) < 100),
        "truncations": ends & (np.arange(200) >= 100),
    }
    return columns | ({"next_observations": rng.standard_normal((200, 3)).astype(np.float32)} if successors else {})


@pytest.mark.parametrize("successors", [True, False])
def test_columns_stay_where_they_lie_as_long_as_no_row_moves(tmp_path, monkeypatch, successors):
    monkeypatch.setattr(flat, "PART", 30)
    columns = many_columns(successors)
    path = logs.write_d4rl(tmp_path, columns)
    with ColumnsWriter(tmp_path / "made", source=path) as writer:
        for part in recognise(path).parts_here({}):
            writer.append(part)
    log, by_hand = open_columns(tmp_path / "made", source=path), load_dataset(logs.write_npz(tmp_path, columns))
    assert len(log) == (200 if successors else 180)
    for name in (*STEPS, "initial_observations", "starts"):
        np.testing.assert_array_equal(getattr(log, name), getattr(by_hand, name))
    assert log.sha256 == by_hand.sha256
    written = {file.stem for file in (tmp_path / "made").glob("*.npy")}
    lying = {"observations", "actions", "rewards", "next_observations"} if successors else set()
    assert written == {*STEPS, "initial_observations", "starts"} - lying
    for name in lying:
        assert place_of(getattr(log, name)).file == str(path)


def test_nobody_elses_folder_may_point_into_files(tmp_path):
    path = logs.write_d4rl(tmp_path, many_columns(successors=True))
    with ColumnsWriter(tmp_path / "made", source=path) as writer:
        for part in recognise(path).parts_here({}):
            writer.append(part)
    assert "offset" in json.loads((tmp_path / "made" / INDEX).read_text())["columns"]["rewards"]
    with pytest.raises(UserError, match="convert the log again"):
        open_columns(tmp_path / "made")


@pytest.mark.process
def test_a_large_log_is_mapped_from_its_own_file_and_a_small_one_is_held(tmp_path, monkeypatch):
    path = logs.write_d4rl(tmp_path, many_columns(successors=True))
    held = load_dataset(path)
    assert all(mapping_of(getattr(held, name)) is None for name in STEPS)
    monkeypatch.setattr("ropeval.data.formats.HELD", 0)
    mapped = load_dataset(path)
    with h5py.File(path) as file:
        assert place_of(mapped.rewards) == (str(path), file["rewards"].id.get_offset())
    assert not mapped.rewards.flags.writeable
    assert mapped.sha256 == held.sha256


@pytest.mark.usefixtures("read_here")
def test_what_was_read_here_is_held_too(tmp_path):
    held = load_dataset(logs.write_d4rl(tmp_path, many_columns(successors=True)))
    assert all(mapping_of(getattr(held, name)) is None for name in STEPS)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = logs.write_d4rl(tmp_path, many_columns(successors=True))

    def read(path, mapped, scratch):
        with ColumnsWriter(scratch, source=path) as writer:
            for part in recognise(path).parts_here(mapped):
                writer.append(part)
        with path.open("ab") as file:
            file.write(b"more")
        return 0

    monkeypatch.setattr(guarded_read, "_read_in_child", read)
    with pytest.raises(UserError, match="changed while it was read"):
        load_dataset(path)
