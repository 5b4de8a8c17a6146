"""What the tables show, from rows whose answers can be worked out by hand."""

import numpy as np
import pytest

from ropeval.bench.results.missing import find_gaps
from ropeval.bench.results.rows import load_rows
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


def test_several_policies_of_a_task_are_cases_of_their_own(tmp_path):
    rows = [
        *runs("t", "fqe", [110.0, 110.0], policy="weak"),
        *runs("t", "fqe", [110.0, 110.0], policy="strong", truth_discounted=200.0),
        *runs("u", "fqe", [110.0, 110.0]),
    ]
    folder = write_study(tmp_path, rows, tasks=["u", "t"])
    summary = summarise(load_rows(folder), read_study(folder))
    assert summary.tasks == ["u", "t · strong", "t · weak"]
    assert summary.truths["discounted", "t · strong"].value == 200.0
    found = {task: summary.score("discounted", task, "fqe", "default").interval.value for task in summary.tasks}
    assert found == pytest.approx({"u": 0.1, "t · strong": 0.45, "t · weak": 0.1})
