"""Files that claim far more than they hold, or point elsewhere: refused within 10 s and 2 GB, by name."""

import io
import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from ropeval.data.formats import recognise
from ropeval.errors import UserError
from tests.data import logs
from tests.fuzz.guard import guarded

HUGE = 1 << 38  # elements


def header(shape, dtype="<f4"):
    """The start of an .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def npz_with_a_huge_array(folder):
    path = logs.write_npz(folder, logs.make_columns())
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["rewards.npy"] = header((HUGE,)) + b"\0" * 100
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def npz_bomb(folder):
    """A hundred times what is stored; the test lowers the size from which on that is too much, to spare the clock."""
    path = folder / "log.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        with file.open("observations.npy", "w", force_zip64=True) as member:
            member.write(header((1 << 24, 1)) + bytes(1 << 26))
        for name in ("actions", "rewards", "terminations", "truncations"):
            file.writestr(f"{name}.npy", header((1 << 24,)))
    return path


def npz_of_objects(folder):
    columns = logs.make_columns()
    return logs.write_npz(folder, columns | {"observations": np.array([print] * 12)})


def hdf5_with(change):
    def make(folder):
        path = logs.write_d4rl(folder, logs.make_columns())
        with h5py.File(path, "a") as file:
            change(file)
        return path

    return make


def never_written(file):
    del file["observations"]
    file.create_dataset("observations", (HUGE, 3), "f4", chunks=(1024, 3))


def compressed_zeros(file):
    for name in list(file):
        if isinstance(file[name], h5py.Dataset):
            del file[name]
    for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
        made = file.create_dataset(name, (1 << 29, 1), "f4", chunks=(1 << 16, 1), compression="gzip")
        made[: 1 << 16] = 0


def elsewhere(file):
    del file["rewards"]
    file["rewards"] = h5py.ExternalLink("/etc/passwd", "/rewards")


def raw_bytes_of_another_file(file):
    del file["rewards"]
    file.create_dataset("rewards", (12,), "f4", external=[("/etc/passwd", 0, 48)])


def virtual(file):
    del file["rewards"]
    layout = h5py.VirtualLayout((12,), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "rewards", (12,))
    file.create_virtual_dataset("rewards", layout)


def soft_link_into_another_file(file):
    """A link within the file, to a place beyond a link that leads out of it."""
    make_sound(file, "elsewhere.h5")
    del file["rewards"]
    file["out"] = h5py.ExternalLink("elsewhere.h5", "/")
    file["rewards"] = h5py.SoftLink("/out/rewards")


def infos_of_another_file(file):
    make_sound(file, "elsewhere.h5")
    del file["infos"]
    file["infos"] = h5py.ExternalLink("elsewhere.h5", "/")


def make_sound(file, name):
    """A second file beside it, which could be read."""
    with h5py.File(Path(file.filename).parent / name, "w") as other:
        other["rewards"] = other["action_log_probs"] = np.zeros(12, np.float32)


def minari_episode_elsewhere(folder):
    path = logs.write_minari(folder, logs.make_columns())
    (data,) = path.rglob("main_data.hdf5")
    data.rename(data.with_name("other.hdf5"))
    with h5py.File(data, "w") as file:
        for number in range(3):
            file[f"episode_{number}"] = h5py.ExternalLink("other.hdf5", f"/episode_{number}")
    return path


def d3rlpy_with(name, make):
    def written(folder):
        path = logs.write_d3rlpy(folder, logs.make_columns())
        with h5py.File(folder / "other.h5", "w") as other:
            other["x"] = 1
        with h5py.File(path, "a") as file:
            del file[name]
            make(file, name)
        return path

    return written


def linked(file, name):
    file[name] = h5py.ExternalLink("other.h5", "/x")


def virtual_number(file, name):
    layout = h5py.VirtualLayout((), "i8")
    layout[()] = h5py.VirtualSource("other.h5", "x", ())
    file.create_virtual_dataset(name, layout)


def cut_hdf5(folder):
    path = logs.write_d4rl(folder, logs.make_columns())
    path.write_bytes(path.read_bytes()[:700])
    return path


def minari_space(description):
    def make(folder):
        path = logs.write_minari(folder, logs.make_columns())
        file = path / "data" / "metadata.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"observation_space": description}))
        return path

    return make


def deep_space(folder):
    path = logs.write_minari(folder, logs.make_columns())
    text = '{"type": "Tuple", "subspaces": [' * 5000 + "]}" * 5000
    file = path / "data" / "metadata.json"
    file.write_text(json.dumps({"total_episodes": 3, "observation_space": text, "action_space": text}))
    return path


def d3rlpy_of_a_billion_episodes(folder):
    path = logs.write_d3rlpy(folder, logs.make_columns())
    with h5py.File(path, "a") as file:
        del file["num_episodes"]
        file["num_episodes"] = 10**12
        file[f"rewards_{10**12 - 1}"] = 1.0
    return path


def many_actions(folder):
    columns = logs.make_columns(discrete=True)
    columns["actions"][0] = 2**40
    return logs.write_npz(folder, columns)


HOSTILE = [
    (npz_with_a_huge_array, "cannot be read as .npz"),
    (npz_bomb, "would unpack"),
    (npz_of_objects, "cannot be read as .npz"),
    (hdf5_with(never_written), "rows but rewards has|claims"),
    (hdf5_with(compressed_zeros), "claims"),
    (hdf5_with(elsewhere), "points into another file"),
    (hdf5_with(raw_bytes_of_another_file), "keeps its values in another file"),
    (hdf5_with(virtual), "keeps its values in another file"),
    (hdf5_with(soft_link_into_another_file), "rewards is a link"),
    (hdf5_with(infos_of_another_file), "infos is a link"),
    (minari_episode_elsewhere, "episode_0 is a link"),
    (d3rlpy_with("version", linked), "version is a link"),
    (d3rlpy_with("terminated_1", linked), "terminated_1 is a link"),
    (d3rlpy_with("num_episodes", virtual_number), "num_episodes keeps its values in another file"),
    (cut_hdf5, "cannot be read as HDF5"),
    (minari_space('{"type": "Discrete", "n": 1000000000000}'), "observations"),
    (minari_space('{"type": "MultiDiscrete", "nvec": [1000000000, 3]}'), "observations"),
    (minari_space('{"type": "Box", "shape": [100000, 100000, 100000]}'), "its space says"),
    (deep_space, "cannot be read"),
    (d3rlpy_of_a_billion_episodes, "episode 3 lacks"),
    (many_actions, "really discrete"),
]


@pytest.fixture(scope="module")
def imports_done(tmp_path_factory):
    """The guard forbids imports: have them done."""
    for kind in ("npz", "d4rl", "d3rlpy", "minari"):
        list(recognise(logs.WRITERS[kind](tmp_path_factory.mktemp("good"), logs.make_columns())).parts_here({}))


@pytest.mark.parametrize(("make", "words"), HOSTILE, ids=[words for _, words in HOSTILE])
def test_hostile_logs_are_refused_at_little_cost(imports_done, tmp_path, make, words, monkeypatch):
    path = make(tmp_path)
    monkeypatch.setattr("ropeval.files.BOMB_BYTES", 1 << 26)
    with pytest.raises(UserError, match=words), guarded():  # which also forbids processes, so without the trial in one
        list(recognise(path).parts_here({}))
