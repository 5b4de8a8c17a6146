"""Every format tells the same log; files that other programs wrote are read as those programs mean them."""

from pathlib import Path

import gymnasium
import h5py
import numpy as np
import polars
import pytest
from gymnasium import spaces

from ropeval.data import Dataset, load_dataset, open_columns
from ropeval.data.column_names import find_names, parse_columns
from ropeval.data.formats import recognise
from ropeval.data.readers import flat
from ropeval.data.writers import write_log
from ropeval.errors import UserError
from tests.data import logs

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("kind", ["npz", "d4rl", "minari", "parquet", "csv"])
def test_every_format_tells_the_same_log(tmp_path, kind, discrete):
    columns = logs.make_columns(discrete)
    expected = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    found = load_dataset(logs.WRITERS[kind](tmp_path, columns))
    assert found.sha256 == expected.sha256
    assert found.notices == ()


def test_a_format_is_known_by_its_content(tmp_path):
    columns = logs.make_columns()
    for kind, write in logs.WRITERS.items():
        path = write(tmp_path, columns)
        if path.is_file():
            renamed = path.rename(tmp_path / f"{kind}.bin")
            assert len(load_dataset(renamed)) == (10 if kind == "d3rlpy" else 12), kind


# --- files by other programs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_a_buffer_that_d3rlpy_wrote(kind):
    """Four episodes of 5 to 8 steps, the first and third terminated; written by d3rlpy 2.8.1."""
    log = load_dataset(SAMPLES / f"d3rlpy_{kind}.h5")
    np.testing.assert_array_equal(np.diff(log.starts), [5, 5, 7, 7])  # the last step of the others has no successor
    assert log.num_actions == (3 if kind == "discrete" else None)
    with h5py.File(SAMPLES / f"d3rlpy_{kind}.h5") as file:
        np.testing.assert_array_equal(log.observations[5:10], file["observations_1"][:-1])
        np.testing.assert_array_equal(log.next_observations[5:10], file["observations_1"][1:])
        np.testing.assert_array_equal(log.rewards[10:17], file["rewards_2"][:, 0])
        np.testing.assert_array_equal(log.actions[10:17], np.squeeze(file["actions_2"][:]))
    np.testing.assert_array_equal(np.flatnonzero(log.terminations), [4, 16])


class Branching(gymnasium.Env):
    """Nothing of interest happens, in a space with every kind of branch and leaf."""

    observation_space = spaces.Dict(
        {
            "position": spaces.Box(-5, 5, (2, 2)),
            "mode": spaces.Discrete(3, start=1),
            "rest": spaces.Tuple((spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3]))),
        }
    )

    def __init__(self, action_space):
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), float(np.sum(action)), False, self.steps == 4, {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "space", [spaces.MultiBinary(3), spaces.Discrete(4, start=2), spaces.Box(-1, 1, (2,)), spaces.MultiDiscrete([2, 3])]
)
def test_what_minari_collects_is_flattened_as_gymnasium_does(tmp_path, monkeypatch, space):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(Branching(space))
    seen, acted = [], []
    space.seed(0)
    for episode in range(3):
        seen.append([env.reset(seed=episode)[0]])
        for _ in range(4):
            acted.append(space.sample())
            seen[-1].append(env.step(acted[-1])[0])
    env.create_dataset("made/up-v0")

    log = load_dataset("made/up-v0")
    expected = [[spaces.flatten(Branching.observation_space, o) for o in episode] for episode in seen]
    np.testing.assert_allclose(log.observations, np.concatenate([e[:-1] for e in expected]))
    np.testing.assert_allclose(log.next_observations, np.concatenate([e[1:] for e in expected]))
    np.testing.assert_array_equal(log.starts, [0, 4, 8, 12])
    assert log.truncations.sum() == 3
    if isinstance(space, spaces.Discrete):
        assert log.num_actions == 4
        np.testing.assert_array_equal(log.actions, np.array(acted) - 2)
    else:
        np.testing.assert_allclose(log.actions, [spaces.flatten(space, a) for a in acted])
        assert bool(log.notices) != isinstance(space, spaces.Box)
    assert load_dataset(tmp_path / "made" / "up-v0").sha256 == log.sha256
    assert load_dataset(tmp_path / "made" / "up-v0" / "data" / "main_data.hdf5").sha256 == log.sha256
    with pytest.raises(UserError, match="but made/up-v0"):
        load_dataset("made/up-v1")


def test_d4rl_without_next_observations_drops_what_has_no_successor(tmp_path):
    columns = logs.make_columns()
    del columns["next_observations"]
    log = load_dataset(logs.write_d4rl(tmp_path, columns))
    assert len(log) == 10
    assert "2 of 12 steps were dropped" in log.notices[0]


def test_d4rl_keeps_the_behaviours_probabilities(tmp_path):
    path = logs.write_d4rl(tmp_path, logs.make_columns())
    with h5py.File(path, "a") as file:
        file["infos/action_log_probs"] = -np.arange(12.0)
    np.testing.assert_array_equal(load_dataset(path).log_probs, -np.arange(12))


def test_d3rlpys_first_format_marks_the_ends_of_episodes(tmp_path):
    columns = logs.make_columns()
    path = tmp_path / "old.h5"
    with h5py.File(path, "w") as file:
        for key in ("observations", "actions", "rewards"):
            file[key] = columns[key]
        file["terminals"] = columns["terminations"].astype(np.float32)
        file["episode_terminals"] = (columns["terminations"] | columns["truncations"]).astype(np.float32)
    log = load_dataset(path)
    assert (len(log), int(log.terminations.sum())) == (10, 1)


# --- in parts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["d4rl", "minari", "d3rlpy"])
def test_reading_in_parts_changes_nothing(tmp_path, monkeypatch, kind):
    columns = logs.make_columns()
    if kind == "d4rl":
        del columns["next_observations"]
    path = logs.WRITERS[kind](tmp_path, columns)
    whole = load_dataset(path)
    for module in ("flat", "minari", "d3rlpy"):
        monkeypatch.setattr(f"ropeval.data.readers.{module}.PART", 5)
    source = recognise(path)
    assert len(list(source.parts({}))) == 2
    assert load_dataset(path).sha256 == whole.sha256
    assert load_dataset(path).notices == whole.notices
    write_log(source.parts({}), tmp_path / "columns", "columns")
    assert open_columns(tmp_path / "columns").sha256 == whole.sha256
    assert open_columns(tmp_path / "columns").notices == whole.notices
    assert flat.PART == 5


# --- tables ---------------------------------------------------------------------------------------------------


def clinic() -> polars.DataFrame:
    """Names of its own, rows in no order, actions in words, dates for time."""
    return polars.DataFrame(
        {
            "patient": ["b", "a", "a", "b", "a"],
            "day": ["2024-01-02", "2024-01-03", "2024-01-01", "2024-01-01", "2024-01-02"],
            "age": [50.0, 33.0, 31.0, 49.0, 32.0],
            "bp10": [1, 2, 3, 4, 5],
            "bp9": [9, 8, 7, 6, 5],
            "drug": ["none", "high", "low", "low", "none"],
            "score": [0.5, 1.0, 0.0, 0.25, 0.75],
            "died": ["no", "yes", "no", "no", "no"],
        }
    )


MAPPING = ["observations=age,bp*", "actions=drug", "rewards=score", "terminations=died", "episode=patient", "time=day"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_from_a_database(tmp_path, ending):
    path = tmp_path / f"visits.{ending}"
    getattr(clinic(), f"write_{ending}")(path)
    log = load_dataset(path, parse_columns(MAPPING))
    # b comes first in the table: days 1 and 2, of which the last has no successor. Then a, who dies on day 3.
    np.testing.assert_array_equal(log.observations, [[49, 6, 4], [31, 7, 3], [32, 5, 5], [33, 8, 2]])
    np.testing.assert_array_equal(log.next_observations[0], [50, 9, 1])
    np.testing.assert_array_equal(log.actions, [1, 1, 2, 0])  # high, low, none
    np.testing.assert_array_equal(log.rewards, [0.25, 0, 0.75, 1])
    np.testing.assert_array_equal(log.terminations, [False, False, False, True])
    assert "0 = high, 1 = low, 2 = none" in " ".join(log.notices)
    assert "put in order by patient and day" in " ".join(log.notices)


def test_semicolons_are_seen(tmp_path):
    path = tmp_path / "visits.csv"
    clinic().write_csv(path, separator=";")
    assert len(load_dataset(path, parse_columns(MAPPING))) == 4


def test_lists_in_parquet_are_vectors(tmp_path):
    columns = logs.make_columns()
    table = {k: v.tolist() if v.ndim == 2 else v for k, v in columns.items()}
    polars.DataFrame(table).write_parquet(tmp_path / "log.parquet")
    expected = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    assert load_dataset(tmp_path / "log.parquet").sha256 == expected.sha256


def test_several_columns_of_integers_are_continuous_actions(tmp_path):
    columns = logs.make_columns()
    columns["actions"] = np.arange(24).reshape(12, 2)
    log = load_dataset(logs.write_csv(tmp_path, columns))
    assert log.num_actions is None
    assert "taken as continuous" in log.notices[0]


def test_names_are_found_by_alias_number_and_pattern():
    available = ["obs_0", "obs_10", "obs_2", "action", "reward", "terminal", "timeouts", "x1", "x10", "x9"]
    found = find_names(available, {}, "log")
    assert found["observations"] == ["obs_0", "obs_2", "obs_10"]
    assert found["terminations"] == ["terminal"]
    assert find_names(available, parse_columns(["observations=x*"]), "log")["observations"] == ["x1", "x9", "x10"]


# --- writing --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("discrete", "probs"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("target", ["log.npz", "log.parquet", "columns", "minari"])
def test_what_is_written_is_read_again(tmp_path, target, discrete, probs):
    if target == "minari":
        pytest.importorskip("minari")
    columns = logs.make_columns(discrete) | ({"log_probs": -np.arange(12.0, dtype=np.float32)} if probs else {})
    log = Dataset.from_columns({k: v for k, v in columns.items() if k != "time"})
    kind = target.removeprefix("log.")
    write_log([log], tmp_path / target, kind)
    back = load_dataset(tmp_path / target)
    assert back.sha256 == log.sha256
    assert (back.log_probs is not None) == probs
    assert [p.name for p in tmp_path.iterdir()] == [target]


def test_minari_cannot_hold_steps_that_do_not_chain(tmp_path, columns):
    with pytest.raises(UserError, match="write it as npz or parquet"):
        write_log([Dataset.from_columns(columns)], tmp_path / "log", "minari")
