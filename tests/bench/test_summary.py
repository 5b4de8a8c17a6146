"""What the tables show, from rows whose answers can be worked out by hand."""

import numpy as np
import polars as pl
import pytest

from ropeval.bench.results.curve_bands import Curve, error_line, gather, line, role
from ropeval.bench.results.missing import find_gaps
from ropeval.bench.results.rows import Failure, load_curves, load_rows
from ropeval.bench.results.summary import TrueValues, setting_order, summarise
from ropeval.bench.run.study import read_study
from tests.bench.studies import hyper, row, runs, small_study, write_study


@pytest.fixture
def small(tmp_path):
    folder = small_study(tmp_path)
    return summarise(load_rows(folder), read_study(folder))


def test_baselines_come_first_then_the_study_s_order(tmp_path):
    rows = [row("b", name, 1.0) for name in ("zzz", "fqe", "mean-return", "mean-reward")] + [row("a", "fqe", 1.0)]
    folder = write_study(tmp_path, rows, methods=["fqe"], tasks=["b"])
    summary = summarise(load_rows(folder), read_study(folder))
    assert summary.methods == ["mean-reward", "mean-return", "fqe", "zzz"]
    assert summary.tasks == ["b", "a"]


def test_tasks_stand_in_the_order_of_the_registry_then_in_the_study_s(tmp_path):
    asked = ["mine/z", "sac/hopper", "d4rl/hopper-random", "mine/a", "d4rl/halfcheetah-random"]
    rows = [row(task, "fqe", 1.0) for task in [*asked, "mine/b"]]
    folder = write_study(tmp_path, rows, tasks=asked, seeds=2)
    study, found = read_study(folder), load_rows(folder)
    wanted = ["d4rl/halfcheetah-random", "d4rl/hopper-random", "sac/hopper", "mine/z", "mine/a", "mine/b"]
    assert summarise(found, study).tasks == wanted
    assert list(dict.fromkeys(gap.task for gap in find_gaps(study, found, []))) == wanted


def test_scores_against_the_two_truths_are_kept_apart(small):
    """fqe estimates 101…104: its middle half is 102 and 103, 0.025 from 100 and 0.475 from 150, in units of 100."""
    assert small.score("discounted", "made/one", "fqe", "default").interval.value == pytest.approx(0.025)
    assert small.score("mean_reward", "made/one", "fqe", "default").interval.value == pytest.approx(0.475)


def test_default_median_and_best_of_a_grid(small):
    """IQM errors: β=0.1: .025 (X/3), .225 (X); β=1: .115 (X/3), .315 (X, the default)."""
    found = {c: small.score("discounted", "made/two", "rope+fqe", c) for c in ("default", "median", "best")}
    values = {choice: score.interval.value for choice, score in found.items()}
    assert values == pytest.approx({"default": 0.315, "median": (0.115 + 0.225) / 2, "best": 0.025})
    assert found["best"].hyper == hyper(rope__beta=0.1, rope__dim="X/3")
    assert found["default"].hyper == hyper(rope__beta=1.0, rope__dim="X")
    assert (found["median"].runs, found["default"].runs, found["best"].settings) == (16, 4, 4)
    for score in found.values():
        assert score.interval.low <= score.interval.value <= score.interval.high


def test_the_best_setting_depends_on_the_truth_it_was_chosen_with(small):
    assert small.score("mean_reward", "made/one", "rope+fqe", "best").hyper == hyper(rope__beta=1.0, rope__dim="X")


def test_without_a_grid_there_is_nothing_to_choose(small):
    assert small.score("discounted", "made/one", "fqe", "best") is None
    assert small.gridded == ["rope+fqe"]


def test_a_grid_without_the_default_says_so(tmp_path):
    rows = runs("t", "rope+fqe", [110.0], hyper=hyper(rope__beta=3.0), default=False)
    folder = write_study(tmp_path, rows)
    summary = summarise(load_rows(folder), read_study(folder))
    assert summary.score("discounted", "t", "rope+fqe", "default") is None
    assert summary.score("discounted", "t", "rope+fqe", "best").interval.value == pytest.approx(0.1)


def test_divergence_in_a_grid(tmp_path):
    rows = runs("t", "rope+fqe", [None] * 4, hyper=hyper(b=1), default=True)
    rows += runs("t", "rope+fqe", [None, 110.0, 110.0, 110.0], hyper=hyper(b=2), default=False)
    folder = write_study(tmp_path, rows)
    summary = summarise(load_rows(folder), read_study(folder))
    found = {c: summary.score("discounted", "t", "rope+fqe", c) for c in ("default", "median", "best")}
    assert found["default"].interval.diverged
    assert found["default"].diverged == 4
    assert found["median"].interval.diverged  # one of two settings: half of an infinity
    assert found["best"].interval.value == pytest.approx(0.1)
    assert found["best"].interval.high == np.inf  # two of four drawn anew may well be the one that diverged
    assert found["best"].diverged == 1


def test_an_undefined_error_keeps_the_counts(tmp_path):
    rows = runs("t", "fqe", [1.0, None, 2.0], truth_discounted=4.0, random_discounted=4.0)
    folder = write_study(tmp_path, rows)
    summary = summarise(load_rows(folder), read_study(folder))
    score = summary.score("discounted", "t", "fqe", "default")
    assert (score.interval, score.runs, score.diverged) == (None, 3, 1)
    assert "worth the same, 4" in summary.truths["discounted", "t"].trouble
    assert summary.truths["mean_reward", "t"].trouble == ""
    assert summary.overall("discounted", "fqe") is None


def test_troubles_of_the_truth_are_named():
    assert "value of π_e was not measured" in TrueValues(np.nan, 0, 1, 0).trouble
    assert "random policy was not measured" in TrueValues(1, 0, np.nan, 0).trouble
    assert "mostly noise" in TrueValues(1.0, 0.3, 0.5, 0.3).trouble
    assert TrueValues(1.0, 0.1, 0.5, 0.1).trouble == ""


def test_overall_is_the_iqm_of_all_tasks_together(tmp_path):
    rows = runs("a", "fqe", [100.0, 110.0]) + runs("b", "fqe", [120.0, 190.0]) + runs("c", "other", [100.0, 100.0])
    folder = write_study(tmp_path, rows)
    interval, tasks = summarise(load_rows(folder), read_study(folder)).overall("discounted", "fqe")
    assert interval.value == pytest.approx((0.1 + 0.2) / 2)
    assert tasks == ["a", "b"]


def test_settings_sort_as_people_would():
    texts = [hyper(b=b, d=d) for b in (10.0, 0.1, 2) for d in ("X", "X/3", "X/2")]
    ordered = sorted(texts, key=setting_order)
    assert ordered[:3] == [hyper(b=0.1, d=d) for d in ("X/3", "X/2", "X")]
    assert ordered[-1] == hyper(b=10.0, d="X")
    assert sorted([hyper(b=None), hyper(b="X/0"), hyper(b=[1]), hyper(b=True)], key=setting_order)  # no crash


class TestGaps:
    def test_a_whole_study_has_none(self, tmp_path):
        folder = small_study(tmp_path)
        assert find_gaps(read_study(folder), load_rows(folder), []) == []

    def test_missing_tasks_methods_settings_and_seeds(self, tmp_path):
        rows = runs("a", "fqe", [1.0, 2.0, 3.0]) + runs("b", "fqe", [1.0])
        rows += runs("a", "rope+fqe", [1.0] * 3, hyper=hyper(b=1))
        folder = write_study(
            tmp_path, rows, tasks=["a", "b"], methods=["fqe", "rope+fqe"], seeds=3, grid={"rope+fqe": {"b": [1, 2]}}
        )
        failed = [Failure("u", "b", "rope+fqe", "{}", "out of memory")]
        gaps = {(g.task, g.method, g.hyper): g[3:] for g in find_gaps(read_study(folder), load_rows(folder), failed)}
        assert gaps == {
            ("a", "mean-reward", ""): (0, 1, ""),
            ("a", "mean-return", ""): (0, 1, ""),
            ("a", "rope+fqe", hyper(b=2)): (0, 3, ""),
            ("b", "mean-reward", ""): (0, 1, ""),
            ("b", "mean-return", ""): (0, 1, ""),
            ("b", "fqe", "{}"): (1, 3, ""),
            ("b", "rope+fqe", ""): (0, 6, "out of memory"),
        }

    def test_a_failed_unit_explains_the_settings_that_it_held(self, tmp_path):
        rows = runs("a", "rope+fqe", [1.0, 2.0], hyper='{"b":1,"d":"X"}') + runs("a", "mean-reward", [1.0])
        rows += runs("a", "mean-return", [1.0])
        folder = write_study(tmp_path, rows, grid={"rope+fqe": {"d": ["X", "X/2"], "b": [1]}})
        failed = [Failure("u", "a", "rope+fqe", '{"d": "X/2"}', "no memory"), Failure("v", "a", "fqe", "{}", "other")]
        (gap,) = find_gaps(read_study(folder), load_rows(folder), failed)
        assert (gap.hyper, gap.present, gap.expected, gap.reason) == (hyper(b=1, d="X/2"), 0, 2, "no memory")

    def test_patterns_stand_for_the_tasks_that_are_known(self, tmp_path):
        rows = [row("d4rl/hopper-medium", m, 1.0) for m in ("mean-reward", "mean-return")]
        folder = write_study(tmp_path, rows, tasks=["d4rl/hopper-*", "my.py:TASK"])
        gaps = find_gaps(read_study(folder), load_rows(folder), [])
        assert {gap.task for gap in gaps} == {"d4rl/hopper-random", "d4rl/hopper-medium-expert"}


class TestLines:
    def test_curves_become_arrays(self, tmp_path):
        folder = small_study(tmp_path)
        curve = gather(load_curves(folder), load_rows(folder))["made/one", "fqe", "{}", "fqe", "estimate"]
        assert curve.steps.tolist() == [10, 20, 30]
        assert curve.values[:, 2].tolist() == [101.0, 102.0, 103.0, 104.0]

    def test_steps_that_a_seed_lacks_are_left_out(self, tmp_path):
        folder = small_study(tmp_path)
        curves = load_curves(folder).filter(~((pl.col("seed") == 2) & (pl.col("step") == 20)))
        curve = gather(curves, load_rows(folder))["made/one", "fqe", "{}", "fqe", "estimate"]
        assert curve.steps.tolist() == [10, 30]
        assert curve.values.shape == (4, 2)

    def test_seeds_without_a_step_in_common_make_no_curve(self, tmp_path):
        folder = small_study(tmp_path)
        step = pl.when(pl.col("seed") == 2).then(pl.col("step") + 1).otherwise(pl.col("step"))
        name = ("made/one", "fqe", "{}", "fqe", "estimate")
        assert name not in gather(load_curves(folder).with_columns(step), load_rows(folder))

    def test_the_error_over_training_ends_at_the_table_s(self, small, tmp_path):
        curve = gather(load_curves(tmp_path), load_rows(tmp_path))["made/one", "fqe", "{}", "fqe", "estimate"]
        found = error_line(curve, small.truths["discounted", "made/one"])
        assert found.value == pytest.approx([1.0, 1 - 0.5125, 0.025])
        assert np.all(found.low <= found.value)
        assert np.all(found.value <= found.high)

    def test_what_is_not_finite_is_an_infinite_error(self):
        values = np.array([[1.0, np.nan], [1.0, 2.0], [1.0, np.inf], [1.0, 2.0]])
        found = error_line(Curve(np.array([1, 2]), values), TrueValues(0.0, 0.0, 1.0, 0.0))
        assert found.value.tolist() == [1.0, np.inf]
        assert not np.isnan(np.stack(found[1:])).any()

    def test_one_seed_has_no_band(self):
        found = line(Curve(np.array([1]), np.array([[3.0]])))
        assert found.low == found.value == found.high == 3.0

    def test_stages_by_role(self):
        assert role("rope+fqe", "rope") == "encoder"
        assert role("rope+fqe", "fqe") == role("fqe", "fqe") == "estimator"
        assert role("dr", "behaviour") == "other"
