"""Ends by the clock: told where nothing tells the time, and not where something does."""

import numpy as np
import pytest

import ropeval
from ropeval.data import Dataset, Log
from ropeval.evaluation.diagnosis.clock import by_neighbour, by_one_column, clock_ends
from tests.problems import Chain, LinearQuadratic

LENGTH = 8


def episodes(lengths, ended=True, columns=lambda state, time, left: state[:, None]) -> Dataset:
    """States are noise; what an observation shows of them, of the time and of the steps to go is up to the case."""
    rng = np.random.default_rng(0)
    time = np.concatenate([np.arange(n) for n in lengths])
    left = np.concatenate([np.arange(n)[::-1] for n in lengths])
    seen = columns(rng.standard_normal(len(time)), time, left).astype(np.float32)
    last = left == 0
    return Dataset.from_columns(
        {
            "observations": seen,
            "next_observations": np.roll(seen, -1, axis=0),  # where an episode ends, nobody looks
            "actions": rng.integers(2, size=len(time)),
            "rewards": np.ones(len(time)),
            "terminations": last & ended,
            "truncations": last & (not ended),
        }
    )


def found(data: Dataset):
    return clock_ends(Log(data, 0.9))


def test_a_clock_that_nothing_tells():
    clock = found(episodes([LENGTH] * 30))
    assert (clock.steps, clock.share) == (LENGTH, 1.0)
    assert clock.told < 0.7
    some = found(episodes([*range(1, LENGTH), LENGTH, LENGTH] * 20))  # others leave before
    assert some.share == pytest.approx(2 / 9)


@pytest.mark.parametrize(
    "shown",
    [
        lambda state, time, left: np.stack([state, time], axis=1),
        lambda state, time, left: np.eye(LENGTH)[time],
        lambda state, time, left: np.stack([np.sin(time), np.cos(time)], axis=1),
        lambda state, time, left: (state + 5.0 * (left == 0))[:, None],  # it is the state that ends it
    ],
    ids=["a column", "a code", "an angle", "the state"],
)
def test_who_is_told_the_time_need_not_guess(shown):
    assert found(episodes([LENGTH] * 30, columns=shown)) is None


def test_where_there_is_no_clock():
    assert found(episodes([LENGTH] * 30, ended=False)) is None  # cut off, and said so
    assert found(episodes([1] * 30)) is None  # every step is the last
    assert found(episodes([LENGTH] * 10)) is None  # too few to tell
    assert found(Chain().log(200)) is None
    assert found(LinearQuadratic().log(30)) is None


def test_what_one_column_and_what_a_neighbour_tell():
    is_end = np.array([True, True, False, False])
    column = np.array([[3.0], [4.0], [1.0], [2.0]])
    assert by_one_column(column, is_end) == 1.0
    assert by_one_column(np.zeros((4, 1)), is_end) == 0.5
    assert by_one_column(np.array([[1.0], [4.0], [1.0], [1.0]]), is_end) == 0.75
    apart = np.arange(4)
    assert by_neighbour(np.array([[0.0], [0.1], [5.0], [5.1]]), is_end, apart) == 1.0
    assert by_neighbour(np.array([[0.0], [5.0], [0.1], [5.1]]), is_end, apart) == 0.0


def test_both_ways_out_give_the_exact_value():
    """Rewards of 1 for eight steps: least squares asks the state and is wrong, or counts and is right."""
    exact = (1 - 0.9**LENGTH) / (1 - 0.9)
    idle = ropeval.CallablePolicy(lambda o: np.zeros(len(o), int), deterministic=True, name="zero")

    def ask(data, **more):
        return ropeval.evaluate(data, idle, "lspe", gamma=0.9, members=2, **more)

    wrong = ask(episodes([LENGTH] * 400))
    assert wrong.value == pytest.approx(1 / (1 - 0.9 * (1 - 1 / LENGTH)), abs=0.3)  # one step in eight the last
    assert abs(wrong.value - exact) > 0.5
    assert "clock" in [f.code for f in wrong.diagnosis]
    counted = ask(episodes([LENGTH] * 30, ended=False), horizon=LENGTH)
    told = ask(episodes([LENGTH] * 30, columns=lambda state, time, left: np.eye(LENGTH)[time]))
    for right in (counted, told):
        assert right.value == pytest.approx(exact, abs=0.05)
        assert "clock" not in [f.code for f in right.diagnosis]
