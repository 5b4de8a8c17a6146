"""A log as it is kept, and what must not change it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.data import Dataset, make_problem
from ropeval.data.dataset import merge_notices
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy
from tests.problems import LinearQuadratic


def test_a_valid_log_is_kept_as_it_is(columns):
    log = Dataset.from_columns(columns)
    assert len(log) == 12
    assert log.num_episodes == 3
    np.testing.assert_array_equal(log.starts, [0, 4, 8, 12])
    np.testing.assert_array_equal(log.initial_observations, columns["observations"][[0, 4, 8]])
    np.testing.assert_array_equal(log.next_observations, columns["next_observations"])
    assert "12 steps in 3 episodes" in repr(log)


def test_discrete_actions_stay_integers(columns):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 3})
    assert log.num_actions == 3
    assert log.space.discrete
    policy = CallablePolicy(lambda o: np.full(len(o), 2), deterministic=True)
    rows = make_problem(log, policy, 0.9).transitions.rows
    np.testing.assert_array_equal(np.asarray(rows.x[:3, -3:]), np.eye(3))
    np.testing.assert_array_equal(np.asarray(rows.next_x[0, 0, -3:]), [0, 0, 1])


def test_true_and_false_are_two_discrete_actions_also_where_only_one_occurs(columns):
    for choice in (np.arange(12) % 2 == 0, np.zeros((12, 1), bool)):
        log = Dataset.from_columns(columns | {"actions": choice})
        assert log.num_actions == 2
        np.testing.assert_array_equal(log.actions, choice.ravel())
    bits = Dataset.from_columns(columns | {"actions": np.zeros((12, 2), bool)})
    assert bits.num_actions is None


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


STEPS = 12  # in all, so that compiled programs can be shared


def _filled(sizes: list[int]) -> list[int]:
    """The first of them that fit, and the rest of the steps as one episode."""
    kept = [size for place, size in enumerate(sizes) if sum(sizes[: place + 1]) < STEPS]
    return [*kept, STEPS - sum(kept)]


lengths = st.sampled_from([[1], [1, 1], [2]]) | st.lists(st.integers(1, 6), max_size=8).map(_filled)
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


def test_names_are_as_many_as_there_are_numbers(columns):
    log = Dataset.from_columns(columns, name="my-log")
    assert log.named(["a", "b", "c"], ["x", "y"]).labels == (["a", "b", "c"], ["x", "y"])
    for names, message in (
        ((["a"], None), "my-log: 1 names for observations of 3 numbers"),
        ((None, ["x"]), "my-log: action_names gives 1 names, but the log has 2 numbers per action"),
        ((None, ["x", "x"]), "every action needs a name of its own"),
    ):
        with pytest.raises(UserError, match=message):
            log.named(*names)


def test_discrete_actions_may_have_more_names_than_occur(columns):
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 2}).named(actions=["none", "low", "high"])
    assert (log.num_actions, log.space.action_names) == (3, ("none", "low", "high"))


def test_logs_of_two_tasks_are_not_joined(columns):
    one, other = (
        Dataset.from_columns(c, name) for c, name in ((columns, "one"), (columns | {"actions": np.zeros(12)}, "two"))
    )
    with pytest.raises(UserError, match="two: its observations or actions have another shape than those of one"):
        Dataset.concatenate([one, other])
    with pytest.raises(UserError, match="no logs to join"):
        Dataset.concatenate([])


def test_counts_in_notices_are_added_up():
    parts = ["3 of 40 steps were dropped", "grouped", "1 of 10 steps were dropped", "grouped"]
    assert merge_notices(parts) == ("4 of 50 steps were dropped", "grouped")


def test_a_mapped_log_comes_to_memory_with_its_hash(tmp_path):
    log = LinearQuadratic().log(2)
    np.save(tmp_path / "rewards.npy", log.rewards)
    vars(log)["rewards"] = np.load(tmp_path / "rewards.npy", mmap_mode="r")
    known = log.sha256
    sent = log.in_memory()
    assert not isinstance(sent.rewards, np.memmap)
    assert isinstance(log.rewards, np.memmap)
    np.testing.assert_array_equal(sent.rewards, log.rewards)
    assert vars(sent)["sha256"] == known
