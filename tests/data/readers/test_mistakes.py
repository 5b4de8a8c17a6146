"""The likeliest mistakes in every format, tried as a new user makes them: each is answered with what to do.

A row: the format, what was done to a good log, and words that the answer must hold. (What may be meant is read, with a
warning: see test_quality.py.)
"""

import json

import h5py
import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.errors import UserError
from tests.data import logs

pytestmark = pytest.mark.usefixtures("read_here")

TERMINALS, TIMEOUTS = "terminals", "timeouts"


def drop(*names):
    return lambda c: [c.pop(n) for n in names]


def put(name, place, value):
    return lambda c: c[name].__setitem__(place, value)


def replaced(name, change):
    return lambda c: c.update({name: change(c[name])})


def renamed(name, to):
    return lambda c: c.update({to: c.pop(name)})


def all_of(*changes):
    return lambda c: [change(c) for change in changes]


def in_file(change):
    """A change to the finished HDF5 file, which every HDF5 layout here keeps in one place."""

    def spoil(path):
        file = path / "data" / "main_data.hdf5" if path.is_dir() else path
        with h5py.File(file, "a") as opened:
            change(opened)

    return spoil


def swap(file, name, values):
    del file[name]
    file[name] = values


def metadata(**fields):
    def spoil(path):
        file = path / "data" / "metadata.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | fields))

    return spoil


def shorten(path):
    path.write_bytes(path.read_bytes()[:-300])


def at_columns(kind, change, *words):
    return pytest.param(kind, change, None, words, id=f"{kind}: {words[0]}")


def at_file(kind, change, *words):
    return pytest.param(kind, None, change, words, id=f"{kind}: {words[0]}")


NPZ = [
    at_columns("npz", drop("rewards"), "missing rewards", "--columns rewards="),
    at_columns("npz", renamed("terminations", "done"), "missing terminations", "Does 'done' mean", "truncations=done"),
    at_columns(
        "npz", all_of(drop("episode_ids"), drop("truncations")), "missing truncations", "Give episode_ids", "never"
    ),
    at_columns("npz", replaced("observations", lambda a: np.concatenate([a, a[-1:]])), "13 rows", "split into"),
    at_columns("npz", put("rewards", 5, np.nan), "rewards is nan at row 5", "repair or drop"),
    at_columns("npz", replaced("observations", lambda a: a.reshape(12, 3, 1)), "shape (12, 3, 1)", "[N, size]"),
    at_columns("npz", replaced("actions", lambda a: np.zeros((12, 2), int)), "one integer per step", "as floats"),
    at_columns("npz", put("episode_ids", slice(None), 0), "goes on after it", "check the ids or the flags"),
    at_columns("npz", replaced("terminations", lambda a: a * 0.5), "flags must be 0 or 1"),
    at_columns("npz", replaced("rewards", lambda a: np.array(["a"] * 12)), "not numbers"),
    at_columns("npz", replaced("actions", lambda a: np.array([object()] * 12)), "Object arrays"),
    at_file("npz", shorten, "damaged or cut short"),
]
D4RL = [
    at_columns("d4rl", drop("rewards"), "missing rewards", "--columns rewards="),
    at_columns("d4rl", drop("truncations"), "terminals but no timeouts", "truncations=never"),
    at_columns("d4rl", all_of(drop("truncations"), renamed("terminations", "dones")), "Does 'dones' mean"),
    at_columns(
        "d4rl", replaced("observations", lambda a: np.concatenate([a, a[:3]])), "15 rows", "drop the last of each"
    ),
    at_columns("d4rl", put("observations", (3, 1), np.inf), "observations is inf at row 3, column 1"),
    at_columns("d4rl", replaced("next_observations", lambda a: a[:, :2]), "they must agree"),
    at_columns("d4rl", replaced("terminations", lambda a: np.arange(12)), "flags must be 0 or 1"),
    at_file("d4rl", in_file(lambda f: swap(f, "rewards", np.float32(1))), "rewards is a single number"),
    at_file("d4rl", in_file(lambda f: swap(f, "rewards", ["one"] * 12)), "rewards holds object, not numbers"),
    at_file("d4rl", in_file(lambda f: f.move("observations", "data/observations")), "missing observations"),
    at_file("d4rl", in_file(lambda f: swap(f, "actions", h5py.Empty("f4"))), "actions holds"),
    at_file("d4rl", shorten, "damaged or cut short"),
]
MINARI = [
    at_file("minari", in_file(lambda f: swap(f, "episode_1/observations", np.zeros((3, 3)))), "keeps T+1", "again"),
    at_file(
        "minari", in_file(lambda f: swap(f, "episode_1/observations", np.zeros((9, 3)))), "expected T+1, T, T, T, T"
    ),
    at_file(
        "minari", in_file(lambda f: swap(f, "episode_2/actions", np.zeros((4, 2)))), "episode_2 has 6 observations"
    ),
    at_file("minari", in_file(lambda f: f.pop("episode_0/rewards")), "episode_0: rewards is missing"),
    at_file(
        "minari",
        in_file(lambda f: f.create_dataset("episode_1/infos/ropeval_log_probs", data=np.zeros(5))),
        "some episodes have infos/ropeval_log_probs",
        "add it to all",
    ),
    at_file("minari", in_file(lambda f: f.pop("episode_2")), "2 episodes, but metadata.json counts 3", "copied while"),
    at_file("minari", in_file(lambda f: swap(f, "episode_0/observations", np.zeros((5, 4)))), "its space says (5, 3)"),
    at_columns("minari", put("observations", (1, 1), np.nan), "observations is nan at row 1"),
    at_file("minari", metadata(data_format="arrow"), "'arrow'", "data_format='hdf5'"),
    at_file("minari", metadata(observation_space='{"type": "Text"}'), "type Text", "transform the dataset"),
    at_file("minari", metadata(action_space=None), "action_space", "cannot be read"),
    at_file("minari", lambda p: (p / "data" / "metadata.json").unlink(), "this folder is no log"),
    at_file("minari", lambda p: (p / "data" / "main_data.hdf5").unlink(), "main_data.hdf5", "cannot be read"),
    at_file("minari", lambda p: shorten(p / "data" / "main_data.hdf5"), "damaged or cut short"),
]
D3RLPY = [
    at_file("d3rlpy", in_file(lambda f: f.pop("actions_1")), "episode 1 lacks actions"),
    at_file("d3rlpy", in_file(lambda f: f.pop("rewards_2")), "declares 3 episodes", "cut short"),
    at_file("d3rlpy", in_file(lambda f: swap(f, "num_episodes", 0)), "declares 0 episodes"),
    at_file("d3rlpy", in_file(lambda f: swap(f, "version", "3.0")), "version 3.0", "reads version 2"),
    at_file("d3rlpy", in_file(lambda f: swap(f, "observations_0", np.zeros((5, 3)))), "episode 0 has 5 observations"),
    at_file("d3rlpy", in_file(lambda f: f.move("observations_0", "observations_0_0")), "flatten them to one vector"),
    at_columns("d3rlpy", replaced("actions", lambda a: np.zeros((12, 2), int)), "one integer per step"),
    at_columns("d3rlpy", put("rewards", 2, np.nan), "rewards is nan at row 2"),
    at_columns("d3rlpy", replaced("observations", lambda a: np.zeros((12, 0))), "at least one number"),
    at_file("d3rlpy", shorten, "damaged or cut short"),
]
TABLE = [
    at_columns("csv", renamed("rewards", "payoff"), "missing rewards", "found actions_0", "--columns rewards="),
    at_columns("csv", renamed("terminations", "done"), "Does 'done' mean"),
    at_columns("csv", put("time", 1, 0), "two rows with time = 0", "--columns time="),
    at_columns("csv", replaced("rewards", lambda a: [None, *a.tolist()[1:]]), "rewards (rewards) is empty in row 0"),
    at_columns("csv", replaced("rewards", lambda a: [f"{v:.2f} EUR" for v in a]), "must hold numbers", "EUR"),
    at_columns("csv", replaced("terminations", lambda a: ["maybe"] * 12), "'maybe'", "true or false"),
    at_columns("csv", replaced("episode_ids", lambda a: [None, *a.tolist()[1:]]), "is empty in row 0"),
    at_columns("csv", put("episode_ids", 4, 0), "two rows with time"),
    at_columns("csv", lambda c: c.update({k: v[:0] for k, v in c.items()}), "no rows"),
    at_columns("parquet", replaced("actions", lambda a: [[1.0]] * 11 + [[1.0, 2.0]]), "lists of different lengths"),
    at_columns("parquet", replaced("actions", lambda a: [None, *range(11)]), "actions", "empty in 1 rows"),
    at_columns("parquet", replaced("rewards", lambda a: [None] * 12), "empty throughout"),
    at_file("parquet", shorten, "cannot be read as Parquet"),
    at_file("csv", lambda p: p.write_bytes(b"\xff\xfe,\xff\n" * 20), "log.csv"),
]


@pytest.mark.parametrize(("kind", "columns_change", "file_change", "words"), NPZ + D4RL + MINARI + D3RLPY + TABLE)
def test_mistakes_are_answered(tmp_path, kind, columns_change, file_change, words):
    columns = logs.make_columns()
    if columns_change:
        columns_change(columns)
    path = logs.WRITERS[kind](tmp_path, columns)
    if file_change:
        file_change(path)
    with pytest.raises(UserError) as caught:
        load_dataset(path)
    answer = str(caught.value)
    assert path.name in answer
    assert "\n" not in answer
    for word in words:
        assert word in answer, answer
