"""The log as the networks see it: streamed or in memory, the same bits."""

import jax
import numpy as np
import pytest

from ropeval.data import open_columns, streaming, write_columns
from ropeval.estimators.world.rows import number_of, world_rows
from ropeval.estimators.world.units import make_units
from ropeval.learning import stream
from tests.estimators.world.logs import simulator_of
from tests.tiny import tiny_log


@pytest.fixture(params=["continuous", "discrete"])
def both(request, tmp_path):
    """A log in memory and in mapped files."""
    log = tiny_log(request.param)
    write_columns(tmp_path / "log", log)
    return log, open_columns(tmp_path / "log")


@pytest.fixture
def nothing_held(monkeypatch):
    """From here on nothing is held in memory, and windows and pieces are so small that every log has many."""

    def forbid():
        monkeypatch.setattr(streaming, "HELD_ON_CPU", 0)
        monkeypatch.setattr(streaming, "WINDOW", 256)
        monkeypatch.setattr(stream, "PIECE", 20_000)

    return forbid


def test_streamed_rows_are_the_same_bits(both, nothing_held):
    log, mapped = both
    held = world_rows(log, make_units(log))
    nothing_held()
    streamed = world_rows(mapped, make_units(mapped))
    assert streamed.streamed
    assert not held.streamed
    rows = np.random.default_rng(0).integers(len(log), size=50)
    for name in ("x", "next_x"):
        ours, theirs = getattr(streamed.rows, name), np.asarray(getattr(held.rows, name))
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours[:], theirs)
        np.testing.assert_array_equal(ours[rows], theirs[rows])
    for name in ("reward", "discount"):
        np.testing.assert_array_equal(getattr(streamed.rows, name), getattr(held.rows, name))


@pytest.mark.training
def test_streamed_logs_give_the_same_simulator(both, nothing_held):
    log, mapped = both
    held = simulator_of(log)
    nothing_held()
    streamed = simulator_of(mapped)
    jax.tree.map(np.testing.assert_array_equal, held.simulator, streamed.simulator)
    assert held.replays == streamed.replays


def test_outcomes_are_where_the_log_goes():
    """Back to the log's units: changes of moving columns, numbers of values of chosen ones."""
    log = tiny_log("continuous")
    units = make_units(log)
    rows = world_rows(log, units).rows
    change = np.asarray(rows.next_x)[:, 0] * units.change_std + units.change_mean
    np.testing.assert_allclose(log.observations + change, log.next_observations, atol=1e-5)
    np.testing.assert_allclose(np.asarray(rows.reward) * units.reward_std + units.reward_mean, log.rewards, rtol=1e-4)

    log = tiny_log("discrete")
    units = make_units(log)
    rows = world_rows(log, units).rows
    number = np.asarray(rows.next_x)[:, 0, 0].astype(int)
    np.testing.assert_array_equal(np.asarray(units.values[0])[number], log.next_observations)
    np.testing.assert_array_equal(rows.discount, ~log.terminations)


def test_number_of():
    values = np.array([[0, 0], [0, 1], [2, 0]], np.float32)
    np.testing.assert_array_equal(number_of(values[[2, 0, 1, 1, 2]], values), [2, 0, 1, 1, 2])
    unknown = np.array([[1.9, 0.1], [0.0, 0.6]], np.float32)
    np.testing.assert_array_equal(number_of(unknown, values), [2, 1])  # the nearest
    assert number_of(values[:0], values).shape == (0,)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_number_of_finds_what_comparing_with_every_value_finds(columns):
    rng = np.random.default_rng(columns)
    values = np.unique(rng.integers(-2, 3, (60, columns)), axis=0).astype(np.float32) / 3
    values = values[rng.permutation(len(values))]
    rows = np.concatenate([values[rng.integers(len(values), size=500)], rng.uniform(-1, 1, (50, columns))])
    rows = rng.permutation(rows.astype(np.float32))
    distance = ((rows[:, None].astype(np.float64) - values) ** 2).sum(axis=2)
    np.testing.assert_array_equal(number_of(rows, values), distance.argmin(axis=1))
