"""The log: what is accepted, what is refused and how, and what must not change the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy


def test_a_valid_log_is_kept_as_it_is(columns):
    log = Dataset.from_columns(columns)
    assert len(log) == 12
    assert log.num_episodes == 3
    np.testing.assert_array_equal(log.starts, [0, 4, 8, 12])
    np.testing.assert_array_equal(log.initial_observations, columns["observations"][[0, 4, 8]])
    np.testing.assert_array_equal(log.next_observations, columns["next_observations"])
    assert "12 steps in 3 episodes" in repr(log)


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


def test_discrete_actions_stay_integers(columns):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    assert log.num_actions == 3
    assert log.space.discrete
    policy = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True)
    rows = make_problem(log, policy, 0.9).transitions.rows
    np.testing.assert_array_equal(np.asarray(rows.x[:3, -3:]), np.eye(3))
    np.testing.assert_array_equal(np.asarray(rows.next_x[0, 0, -3:]), [0, 0, 1])


def spoil(columns, key, value):
    return {**columns, key: value}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("rewards"), "missing rewards"),
        (lambda c: c["rewards"].__setitem__(5, np.nan), "rewards is nan at row 5"),
        (lambda c: c["observations"].__setitem__((2, 1), np.inf), "observations is inf at row 2, column 1"),
        (lambda c: c.update(actions=c["actions"][:-1]), "actions has 11 rows but rewards has 12"),
        (lambda c: c.update(observations=np.zeros(12)), "observations has shape (12,)"),
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


def random_log(lengths, seed):
    rng = np.random.default_rng(seed)
    steps = sum(lengths)
    ends = np.zeros(steps, bool)
    ends[np.cumsum(lengths) - 1] = True
    terminal = ends & (rng.random(steps) < 0.5)
    return {
        "observations": rng.standard_normal((steps, 2)).astype(np.float32),
        "actions": rng.standard_normal((steps, 1)).astype(np.float32),
        "rewards": rng.standard_normal(steps).astype(np.float32),
        "terminations": terminal,
        "truncations": ends & ~terminal,
        "next_observations": rng.standard_normal((steps, 2)).astype(np.float32),
    }


lengths = st.lists(st.integers(1, 6), min_size=1, max_size=8)
linear = CallablePolicy(lambda o: o[:, :1] * 0.5, deterministic=True, name="linear")


def sorted_rows(log):
    rows = make_problem(log, linear, 0.9).transitions.rows
    table = np.concatenate(
        [np.asarray(rows.x), np.asarray(rows.next_x[:, 0]), np.stack([rows.reward, rows.discount], axis=1)], axis=1
    )
    return table[np.lexsort(table.T[::-1])]


@given(lengths, st.integers(0, 2**16), st.randoms(use_true_random=False))
def test_permuting_episodes_changes_no_transition(sizes, seed, random):
    raw = random_log(sizes, seed)
    log = Dataset.from_columns(raw)
    pieces = [slice(a, b) for a, b in zip(log.starts[:-1], log.starts[1:], strict=True)]
    random.shuffle(pieces)
    shuffled = Dataset.from_columns({k: np.concatenate([v[p] for p in pieces]) for k, v in raw.items()})
    np.testing.assert_allclose(sorted_rows(log), sorted_rows(shuffled), rtol=1e-5, atol=1e-5)
    assert shuffled.num_episodes == log.num_episodes


@given(lengths, st.integers(0, 2**16), st.integers(1, 7))
def test_splitting_a_log_into_files_changes_nothing(sizes, seed, cut):
    raw = random_log(sizes, seed)
    log = Dataset.from_columns(raw)
    at = int(log.starts[min(cut, len(sizes) - 1)]) or len(log)
    parts = [
        Dataset.from_columns({k: v[s] for k, v in raw.items()})
        for s in (slice(0, at), slice(at, None))
        if len(raw["rewards"][s])
    ]
    assert Dataset.concatenate(parts).sha256 == log.sha256


@given(lengths, st.integers(0, 2**16), st.floats(-50, 50, width=32))
def test_a_constant_added_to_a_column_changes_no_feature(sizes, seed, constant):
    raw = random_log(sizes, seed)
    moved = dict(raw)
    for key in ("observations", "next_observations"):
        moved[key] = raw[key] + np.array([constant, 0], np.float32)
    shifted = CallablePolicy(lambda o: (o[:, :1] - np.float32(constant)) * 0.5, deterministic=True)
    before = make_problem(Dataset.from_columns(raw), linear, 0.9).transitions
    after = make_problem(Dataset.from_columns(moved), shifted, 0.9).transitions
    if len(raw["rewards"]) > 2:  # with fewer rows the spread is rounding
        np.testing.assert_allclose(before.rows.x, after.rows.x, atol=5e-3)
        np.testing.assert_allclose(before.rows.next_x, after.rows.next_x, rtol=5e-3, atol=2e-2)
