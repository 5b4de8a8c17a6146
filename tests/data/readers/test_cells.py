"""Numbers are not taken for words because one of them is missing, nor words for times."""

import re

import numpy as np
import polars
import pytest

from ropeval.data import load_dataset
from ropeval.data.column_names import parse_columns
from ropeval.errors import UserError
from tests.data.readers.test_table import MAPPING, clinic

WARD = ["observations=age,ward", *MAPPING[1:]]


@pytest.mark.parametrize("missing", ["NA", "nan", "N/A", "None", "-", "?", "<5"])
def test_a_word_among_numbers_does_not_make_words_of_them(missing):
    frame = clinic().with_columns(ward=polars.Series(["1", "2.5", missing, "4", "5"]))
    with pytest.raises(UserError, match=rf"ward \(observations\) holds numbers, but '{re.escape(missing)}' in row"):
        load_dataset(frame, parse_columns(WARD))


@pytest.mark.parametrize("cells", [["1,250.5"] * 5, ["37.5 %"] * 5, ["$5"] * 5, ["10,5", "1", "2", "3", "4"]])
def test_numbers_that_are_not_written_plainly(cells):
    frame = clinic().with_columns(ward=polars.Series(cells))
    with pytest.raises(UserError, match=r"write numbers plainly \(1250\.5\)"):
        load_dataset(frame, parse_columns(WARD))


@pytest.mark.parametrize("cells", [["3a", "3b", "4", "west", "3a"], ["1", "2", "1", "2", "1"]])
def test_words_may_hold_digits(cells):
    log = load_dataset(clinic().with_columns(ward=polars.Series(cells)), parse_columns(WARD))
    assert log.labels[0] == ["age", *(f"ward={word}" for word in sorted(set(cells)))]


def test_lists_in_words_are_no_words():
    frame = clinic().with_columns(ward=polars.Series([f"[{i}.0, 2.0]" for i in range(5)]))
    with pytest.raises(UserError, match=r"ward \(observations\) holds lists in words .*observations_0"):
        load_dataset(frame, parse_columns(WARD))


def test_actions_are_words_unless_they_are_numbers():
    percent = clinic().with_columns(drug=polars.Series(["10 %", "0 %", "10 %", "20 %", "0 %"]))
    assert load_dataset(percent, parse_columns(MAPPING)).action_names == ("0 %", "10 %", "20 %")
    doses = clinic().with_columns(drug=polars.Series(["1,250.5", "0", "0", "1,250.5", "3"]))
    with pytest.raises(UserError, match=r"drug \(actions\) holds numbers, but '1,250.5' in row"):
        load_dataset(doses, parse_columns(MAPPING))


def test_a_reward_that_is_no_number_is_shown():
    frame = clinic().with_columns(score=polars.Series(["0.5", "1.0", "good", "0.25", "0.75"]))
    with pytest.raises(UserError, match=r"score \(rewards\) must hold numbers, but 'good' in row"):
        load_dataset(frame, parse_columns(MAPPING))


@pytest.mark.parametrize("days", [["visit 10", "visit 9", "visit 2"], ["01/15/2024", "01/02/2024", "02/01/2024"]])
def test_words_have_no_order_in_time(days):
    by_day = dict(zip(["2024-01-01", "2024-01-02", "2024-01-03"], days, strict=True))
    with pytest.raises(UserError, match=r"day \(time\) holds .*, and words have no order in time"):
        load_dataset(clinic().with_columns(day=clinic()["day"].replace(by_day)), parse_columns(MAPPING))


def test_several_columns_may_name_an_episode_together():
    """Two patients called 1, in two hospitals, their rows mixed."""
    rows = [
        {"hospital": h, "patient": 1, "day": t, "obs": 10.0 * h + t, "action": 0, "reward": 1.0, "terminated": t == 1}
        for t in (1, 0)
        for h in (2, 3)
    ]
    log = load_dataset(rows, {"episode_ids": ["hospital", "patient"], "time": "day"})
    np.testing.assert_array_equal(log.observations[:, 0], [20, 21, 30, 31])
    assert "episodes are told apart by hospital and patient together" in log.notices
    rows[0]["hospital"] = None
    with pytest.raises(UserError, match=r"hospital \(episode_ids\) is empty in row 0"):
        load_dataset(rows, {"episode_ids": ["hospital", "patient"], "time": "day"})


def test_a_flag_that_is_missing_says_what_to_write():
    frame = clinic().with_columns(died=polars.Series([None, 1, None, None, None]))
    with pytest.raises(UserError, match=r"died \(terminations\) is empty in row \d; write 0 where it is not so"):
        load_dataset(frame, parse_columns(MAPPING))
