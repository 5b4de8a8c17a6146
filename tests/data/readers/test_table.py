"""Tables as they come out of a database."""

import numpy as np
import polars
import pytest

from ropeval.data import Dataset, load_dataset
from ropeval.data.column_names import parse_columns
from ropeval.data.readers import flat, table
from ropeval.errors import UserError
from tests.data import logs


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
@pytest.mark.usefixtures("read_here")
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
    assert log.labels == (["age", "bp9", "bp10"], ["high", "low", "none"])
    assert "put in order by patient and day" in " ".join(log.notices)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.usefixtures("read_here")
def test_an_observation_in_words_is_a_column_for_every_word(tmp_path, kind):
    frame = clinic().with_columns(ward=polars.Series(["west", "east", "north", "west", "east"]))
    if kind != "frame":
        getattr(frame, f"write_{kind}")(tmp_path / f"visits.{kind}")
    log = load_dataset(
        frame if kind == "frame" else tmp_path / f"visits.{kind}",
        parse_columns(["observations=age,ward,bp9", *MAPPING[1:]]),
    )
    assert log.labels[0] == ["age", "ward=east", "ward=north", "ward=west", "bp9"]
    np.testing.assert_array_equal(
        log.observations, [[49, 0, 0, 1, 6], [31, 0, 1, 0, 7], [32, 1, 0, 0, 5], [33, 1, 0, 0, 8]]
    )
    assert "the words in ward became columns of 0 and 1: ward=east, ward=north, ward=west" in " ".join(log.notices)


def test_next_observations_have_the_same_words():
    rows = [
        {"obs": "a", "next_obs": "b", "action": 0, "reward": 1.0, "terminated": False, "truncated": True},
        {"obs": "b", "next_obs": "c", "action": 1, "reward": 1.0, "terminated": False, "truncated": True},
    ]
    log = load_dataset(rows)
    np.testing.assert_array_equal(log.observations, [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(log.next_observations, [[0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("words", "said"),
    [([None, "east", "west", "west", "east"], "is empty in row"), (list("abcde"), "has 5 different words")],
)
def test_words_of_an_observation_that_are_missing_or_too_many(words, said, monkeypatch):
    monkeypatch.setattr(table, "MAX_WORDS", 4)
    frame = clinic().with_columns(ward=polars.Series(words))
    with pytest.raises(UserError, match=said):
        load_dataset(frame, parse_columns(["observations=age,ward", *MAPPING[1:]]))


def test_several_columns_of_integers_are_continuous_actions(tmp_path):
    columns = logs.make_columns()
    columns["actions"] = np.arange(24).reshape(12, 2)
    log = load_dataset(logs.write_csv(tmp_path, columns))
    assert log.num_actions is None
    assert "taken as continuous" in log.notices[0]


@pytest.mark.process
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_true_and_false_is_discrete_actions(tmp_path, ending):
    treated = np.arange(12) % 3 == 0
    frame = logs.frame(logs.make_columns(discrete=True)).with_columns(polars.Series("actions", treated))
    getattr(frame, f"write_{ending}")(tmp_path / f"log.{ending}")
    log = load_dataset(tmp_path / f"log.{ending}")
    assert log.num_actions == 2
    np.testing.assert_array_equal(log.actions, treated)


def test_a_time_orders_the_steps_of_episodes_only(tmp_path):
    columns = logs.make_columns()
    ids = columns.pop("episode_ids")
    path = logs.write_csv(tmp_path, columns)
    assert load_dataset(path).num_episodes == 3  # by the flags: a column that happens to be called time is let be
    with pytest.raises(UserError, match="there is no column episode_ids"):
        load_dataset(path, {"time": "time"})
    path = logs.write_csv(tmp_path, {**columns, "episode_ids": ids})
    assert load_dataset(path, {"time": "time"}).num_episodes == 3


def test_one_column_cannot_be_two_things(tmp_path):
    frame = logs.frame(logs.make_columns()).with_columns(polars.lit(1.0).alias("bonus"))
    frame.write_csv(tmp_path / "log.csv")
    with pytest.raises(UserError, match="rewards is one number per step, but rewards, bonus"):
        load_dataset(tmp_path / "log.csv", {"rewards": ["rewards", "bonus"]})


@pytest.mark.parametrize("ids", [[float("nan")] + [1.0] * 11, [None] + [1] * 11, [None] + ["a"] * 11])
def test_an_episode_without_a_name_is_refused(ids):
    frame = logs.frame(logs.make_columns()).with_columns(polars.Series("episode_ids", ids, strict=False))
    with pytest.raises(UserError, match=r"episode_ids\) is empty in row 0"):
        load_dataset(frame.drop("time"))


@pytest.mark.parametrize("count", [3.9, None, "three", float("nan"), float("inf"), True])
def test_a_number_of_actions_that_is_none(count):
    frame = logs.frame(logs.make_columns(discrete=True)).with_columns(polars.Series("num_actions", [count] * 12))
    if count is True:  # one action, but three occur
        with pytest.raises(UserError, match="num_actions is 1 but action 2 occurs"):
            load_dataset(frame)
        return
    with pytest.raises(UserError, match="num_actions"):
        load_dataset(frame)


@pytest.mark.parametrize("action", [{"a": 1}, b"\xff"], ids=["struct", "binary"])
def test_actions_that_are_neither_numbers_nor_words(action):
    table = logs.frame(logs.make_columns(discrete=True)).with_columns(polars.Series("actions", [action] * 12))
    with pytest.raises(UserError, match="not numbers"):
        load_dataset(table)


@pytest.mark.parametrize("column", ["episode_ids", "num_actions", "actions", None])
def test_what_must_be_seen_as_a_whole_is_one_part(column, monkeypatch):
    monkeypatch.setattr(flat, "PART", 4)
    columns = logs.make_columns(discrete=True)
    words = np.array(["a", "b", "c", "d", "e"])[columns["actions"]]
    others = {"episode_ids": columns["episode_ids"], "num_actions": np.full(12, 5), "actions": words}
    frame = logs.frame({k: v for k, v in columns.items() if k not in ("time", "episode_ids", "num_actions")})
    frame = frame.with_columns(**{column: others[column]}) if column else frame
    asked = []

    def select(wanted, rows):
        asked.append(rows)
        return frame.select(wanted)[rows]

    parts = list(table.table_in_parts(frame.columns, select, 12, {}, "log"))
    assert (len(parts) == 1) == (column is not None)
    assert Dataset.concatenate(parts).sha256 == load_dataset(frame).sha256
    assert all(rows.stop - rows.start < 12 for rows in asked[3:])  # after a glance, and the flags
