"""What is accepted as a log, what is refused and how, and what is done to its rows."""

import numpy as np
import pytest

from ropeval.data import Dataset
from ropeval.data.checked_columns import PIECE, _moved_up, _without
from ropeval.errors import UserError


def test_successors_follow_from_the_order_and_unknown_ones_are_dropped_with_a_notice(columns):
    del columns["next_observations"]
    log = Dataset.from_columns(columns)
    # Row 3 terminates, so its successor does not matter; rows 7 and 11 are cut off and have none.
    assert len(log) == 10
    assert "2 of 12 steps were dropped" in log.notices[0]
    np.testing.assert_array_equal(log.next_observations[:3], columns["observations"][1:4])
    np.testing.assert_array_equal(log.starts, [0, 4, 7, 10])
    np.testing.assert_array_equal(log.initial_observations, columns["observations"][[0, 4, 8]])
    # Inside an episode only: the last kept row of episode 1 is followed by row 7, not by episode 2.
    np.testing.assert_array_equal(log.next_observations[6], columns["observations"][7])


def test_an_unended_last_episode_is_an_episode(columns):
    columns["truncations"][-1] = False
    log = Dataset.from_columns(columns)
    assert log.num_episodes == 3


def test_termination_wins_over_truncation(columns):
    columns["truncations"][3] = True
    log = Dataset.from_columns(columns)
    assert log.terminations[3]
    assert not log.truncations[3]


def test_interleaved_episodes_are_grouped_by_their_ids(columns):
    ids = np.repeat([7, 3, 5], 4)
    plain = Dataset.from_columns(columns | {"episode_ids": ids})
    order = np.argsort(np.tile(np.arange(4), 3), kind="stable")  # first steps of all, then second steps, …
    mixed = Dataset.from_columns({k: v[order] for k, v in columns.items()} | {"episode_ids": ids[order]})
    assert mixed.sha256 == plain.sha256
    assert "interleaved" in mixed.notices[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("rewards"), "missing rewards"),
        (lambda c: c["rewards"].__setitem__(5, np.nan), "rewards is nan at row 5"),
        (lambda c: c["observations"].__setitem__((2, 1), np.inf), "observations is inf at row 2, column 1"),
        (lambda c: c.update(actions=c["actions"][:-1]), "actions has 11 rows but rewards has 12"),
        (lambda c: c.update(observations=np.zeros((12, 2, 2))), "observations has shape (12, 2, 2)"),
        (lambda c: c.update(actions=np.zeros((12, 2, 2))), "actions has shape (12, 2, 2)"),
        (lambda c: c.update(actions=np.zeros((12, 2), int)), "one integer per step"),
        (lambda c: c.update(actions=np.full(12, -1)), "discrete actions count from 0"),
        (lambda c: c.update(next_observations=np.zeros((12, 4))), "next_observations has shape (12, 4)"),
        (lambda c: c.update(terminations=np.full(12, 0.5)), "flags must be 0 or 1"),
        (lambda c: c.update(rewards=np.array(["a"] * 12)), "not numbers"),
        (lambda c: c.update({k: v[:0] for k, v in c.items()}), "the log is empty"),
        (lambda c: c.update(episode_ids=np.zeros(12)), "goes on after it"),
        (lambda c: c.update(num_actions=np.array(2), actions=np.arange(12) % 3), "num_actions is 2 but action 2"),
    ],
)
def test_bad_logs_are_refused_by_name(columns, change, message):
    change(columns)
    with pytest.raises(UserError) as caught:
        Dataset.from_columns(columns, name="my-log.npz")
    assert message in str(caught.value)
    assert str(caught.value).startswith("my-log.npz: ")


def test_where_no_step_has_a_successor_there_is_no_log(columns):
    del columns["next_observations"], columns["truncations"]
    single = {key: values[4:8] for key, values in columns.items()} | {"episode_ids": np.arange(4)}
    with pytest.raises(UserError, match="no step has a known successor"):
        Dataset.from_columns(single)


def test_without_truncations_whatever_did_not_terminate_was_cut_off(columns):
    del columns["truncations"]
    log = Dataset.from_columns(columns | {"episode_ids": np.repeat([0, 1, 2], 4)})
    np.testing.assert_array_equal(np.flatnonzero(log.truncations), [7, 11])


@pytest.mark.parametrize(
    "lost", [[], [4 * PIECE - 1], [0, 40], list(range(0, 4 * PIECE, 2)), list(range(1, 4 * PIECE))]
)
def test_rows_are_dropped_alike_in_pieces_and_one_by_one(lost):
    rows = np.arange(4 * PIECE)
    kept, lost = np.delete(rows, lost), np.array(lost, np.int64)
    np.testing.assert_array_equal(_without(rows, lost), kept)
    np.testing.assert_array_equal(_without(rows, lost, shift=1), np.minimum(kept + 1, rows[-1]))
    theirs = rows.view()
    theirs.flags.writeable = False
    np.testing.assert_array_equal(_moved_up(theirs, lost), kept)
    np.testing.assert_array_equal(rows, np.arange(len(rows)))
    np.testing.assert_array_equal(_moved_up(rows, lost), kept)


def test_columns_are_copied_unless_they_are_given_away(columns):
    before = {name: values.copy() for name, values in columns.items()}
    log = Dataset.from_columns(columns)
    for name, values in columns.items():
        assert not np.shares_memory(getattr(log, name), values), name
        np.testing.assert_array_equal(values, before[name])
    given = Dataset.from_columns(columns, given=True)
    assert np.shares_memory(given.observations, columns["observations"])
    assert given.sha256 == log.sha256
