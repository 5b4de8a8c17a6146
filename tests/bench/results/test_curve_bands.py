"""Curves of many seeds as one line each."""

import numpy as np
import polars as pl
import pytest

from ropeval.bench.results.curve_bands import Curve, error_line, gather, line, settled, stage_of
from ropeval.bench.results.rows import load_curves, load_rows
from ropeval.bench.results.summary import TrueValues, summarise
from ropeval.bench.run.study import read_study
from tests.bench.studies import small_study


@pytest.fixture
def small(tmp_path):
    folder = small_study(tmp_path)
    return summarise(load_rows(folder), read_study(folder))


def test_curves_become_arrays(tmp_path):
    folder = small_study(tmp_path)
    curve = gather(load_curves(folder), load_rows(folder))["made/one", "fqe", "{}", "fqe", "estimate"]
    assert curve.steps.tolist() == [10, 20, 30]
    assert curve.values[:, 2].tolist() == [101.0, 102.0, 103.0, 104.0]


def test_steps_that_a_seed_lacks_are_left_out(tmp_path):
    folder = small_study(tmp_path)
    curves = load_curves(folder).filter(~((pl.col("seed") == 2) & (pl.col("step") == 20)))
    curve = gather(curves, load_rows(folder))["made/one", "fqe", "{}", "fqe", "estimate"]
    assert curve.steps.tolist() == [10, 30]
    assert curve.values.shape == (4, 2)


def test_seeds_without_a_step_in_common_make_no_curve(tmp_path):
    folder = small_study(tmp_path)
    step = pl.when(pl.col("seed") == 2).then(pl.col("step") + 1).otherwise(pl.col("step"))
    name = ("made/one", "fqe", "{}", "fqe", "estimate")
    assert name not in gather(load_curves(folder).with_columns(step), load_rows(folder))


def test_the_error_over_training_ends_at_the_table_s(small, tmp_path):
    curve = gather(load_curves(tmp_path), load_rows(tmp_path))["made/one", "fqe", "{}", "fqe", "estimate"]
    found = error_line(curve, small.truths["discounted", "made/one"])
    assert found.value == pytest.approx([1.0, 1 - 0.5125, 0.025])
    assert np.all(found.low <= found.value)
    assert np.all(found.value <= found.high)


def test_what_is_not_finite_is_an_infinite_error():
    values = np.array([[1.0, np.nan], [1.0, 2.0], [1.0, np.inf], [1.0, 2.0]])
    found = error_line(Curve(np.array([1, 2]), values), TrueValues(0.0, 0.0, 1.0, 0.0))
    assert found.value.tolist() == [1.0, np.inf]
    assert not np.isnan(np.stack(found[1:])).any()


def test_one_seed_has_no_band():
    found = line(Curve(np.array([1]), np.array([[3.0]])))
    assert found.low == found.value == found.high == 3.0


def test_a_part_is_trained_by_the_stage_of_its_name():
    assert stage_of("rope+fqe", "encoder") == "rope"
    assert stage_of("rope+fqe", "estimator") == stage_of("fqe", "estimator") == "fqe"
    assert stage_of("dr", "encoder") == ""


def test_a_curve_that_still_moves_has_not_settled():
    rising, steps = np.linspace(0.0, 1.0, 16), np.arange(16)
    calm = np.minimum(rising, 0.5)
    assert not settled(Curve(steps, rising[None]))
    assert settled(Curve(steps, calm[None]))
    assert settled(Curve(steps, np.stack([calm, np.full(16, np.inf)])))  # who diverged has an infinite error as it is
    assert settled(Curve(steps[:3], rising[None, :3]))  # too short to tell
