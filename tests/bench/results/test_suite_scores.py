"""The scores of a suite against numbers worked out by hand."""

import numpy as np
import polars as pl
import pytest

from ropeval.bench.results.rows import ROWS, Failure
from ropeval.bench.results.suite_scores import judges_many, score_suite, spearman
from ropeval.bench.results.summary import summarise
from tests.bench.results.suites import LOGS, cases, suite_rows
from tests.bench.studies import hyper, runs

REFUSED = Failure("u", LOGS[1], "far", "{}", "no probabilities", "d", refused=True)


def scored(rows, failures=(REFUSED,)):
    return score_suite(summarise(pl.DataFrame(rows, schema=ROWS)), failures)


@pytest.fixture(scope="module")
def suite():
    return scored(suite_rows())


def test_errors_are_shares_of_the_range_of_all_policies_of_the_task(suite):
    """Also of those in the other split: b, c and d are `test`, and the range goes from a to d."""
    found = suite.part("test", "near").filter(task=LOGS[0])
    assert found["error"].to_list() == pytest.approx([2 / 40, 2 / 40, 6 / 40])
    assert found["rmae"].to_list() == pytest.approx([2 / 20, 2 / 30, 6 / 50])
    assert suite.line("near", "test").median.value == pytest.approx(2 / 40)


def test_centres_are_over_answered_cases_and_the_others_are_counted(suite):
    line = suite.line("far", "test")
    assert line.counts == {"answered": 4, "diverged": 1, "refused": 1, "missing": 0}
    assert line.median.value == pytest.approx((10 + 30) / 2 / 40)  # of 0, 10, 30, 30
    assert line.iqm.value == pytest.approx((10 + 30) / 2 / 40)
    assert not line.compared
    assert suite.line("near", "test").compared


def test_what_failed_or_was_never_run_is_missing():
    assert scored(suite_rows(), []).line("far", "test").counts["missing"] == 1
    broken = Failure("u", LOGS[1], "far", "{}", "MemoryError: …", "d", refused=False)
    assert scored(suite_rows(), [broken]).line("far", "test").counts["missing"] == 1
    everywhere = Failure("u", LOGS[1], "far", "{}", "no probabilities", refused=True)
    assert scored(suite_rows(), [everywhere]).line("far", "test").counts["refused"] == 1


def test_the_order_of_the_policies_of_a_log(suite):
    """On the first log `far` gives b 40, c 20, d 10: the order is turned around. On the second it has c alone."""
    first, second = (suite.logs.filter(task=task, method="far", split="test") for task in LOGS)
    assert first["spearman"].to_list() == [-1.0]
    assert first["regret"].to_list() == [30 / 40]
    assert second["spearman"].to_list() == [None]
    assert second["regret"].to_list() == [20 / 40]  # d would have been better, and was refused
    assert suite.line("far", "test").regret.value == pytest.approx(0.625)


def test_an_estimate_that_is_the_same_for_all_orders_nothing(suite):
    line = suite.line("mean-return", "test")
    assert line.spearman.value == 0.0
    assert line.regret.value == pytest.approx((40 - (10 + 20 + 40) / 3) / 40)  # what a blind choice loses
    assert spearman(np.array([1.0]), np.array([2.0])) is None
    assert spearman(np.array([1.0, 2.0]), np.array([3.0, 3.0])) is None


def test_coverage_and_width(suite):
    line = suite.line("near", "test")
    assert (line.intervals, line.coverage, line.width) == (6, pytest.approx(2 / 3), pytest.approx(8 / 40))
    bare = scored([r | {"low": None, "high": None} for r in suite_rows()]).line("near", "test")
    assert bare.intervals == 0
    assert np.isnan(bare.coverage)


def test_a_log_takes_its_preparing_once_and_the_seconds_of_every_policy(suite):
    assert suite.line("near", "test").seconds == 1 + 4 * 2
    assert suite.line("near", "dev").seconds == 1 + 4 * 2  # a log is one log, whatever the split


def test_logs_on_which_a_trivial_estimate_is_beaten(suite):
    """Mean errors of b, c, d: mean-return 10, 0, 20; mean-reward 40, 30, 10."""
    assert suite.beats("near", "mean-return", "test") == (2, 2)
    assert suite.beats("far", "mean-return", "test") == (0, 2)  # 20 against 10, and on c alone 10 against 0
    assert suite.beats("far", "mean-reward", "test") == (2, 2)
    assert suite.beats("mean-return", "mean-return", "test") is None


def test_a_log_without_an_answer_is_not_won():
    rows = [r for r in suite_rows() if (r["task"], r["method"]) != (LOGS[1], "near")]
    assert scored(rows).beats("near", "mean-return", "test") == (1, 2)


def test_splits_and_families_stand_apart(suite):
    assert suite.splits == ["test", "dev"]
    assert suite.families("test") == ["bandit", "tabular"]
    assert suite.line("near", "dev").cases == 2
    assert suite.line("far", "test", "tabular").counts["answered"] == 3
    assert suite.line("far", "test", "bandit").iqm.value == pytest.approx(10 / 40)


def test_the_best_come_first_and_who_answered_too_little_last(suite):
    assert suite.methods == ["near", "mean-return", "mean-reward", "far"]


def test_members_of_a_log_are_scored_apart_and_averaged():
    rows = suite_rows()
    for seed, error in ((0, 4.0), (1, -8.0)):
        rows += cases(LOGS[0], "twice", dict.fromkeys("abcd", error), seed=seed)
    suite = scored(rows)
    assert suite.line("twice", "test").counts["answered"] == 3  # cases, of two seeds each
    assert suite.line("twice", "test").counts["missing"] == 3  # of the other log
    assert suite.line("twice", "test").cases == suite.line("near", "test").cases
    assert suite.line("twice", "test").median.value == pytest.approx(6 / 40)
    assert suite.line("twice", "test").spearman.value == pytest.approx(1.0)
    assert suite.line("twice", "test").seconds == 1 + 4 * 2  # members train together


def test_the_default_setting_stands_for_a_method():
    rows = suite_rows()
    rows += cases(LOGS[0], "grid", dict.fromkeys("abcd", 20.0), hyper=hyper(x__a=1), default=False)
    rows += cases(LOGS[0], "grid", dict.fromkeys("abcd", 2.0), hyper=hyper(x__a=2))
    assert scored(rows).line("grid", "test").median.value == pytest.approx(2 / 40)


def test_a_task_with_one_policy_has_no_range():
    rows = suite_rows() + runs("alone", "near", [110.0], truth_discounted=100.0)
    suite = scored(rows)
    assert suite.unscored == ["alone"]
    assert "alone" not in suite.tasks
    assert judges_many(pl.DataFrame(rows, schema=ROWS))
    assert not judges_many(pl.DataFrame(runs("alone", "near", [110.0]), schema=ROWS))


def test_a_value_that_nobody_measured_leaves_its_case_out():
    rows = [r | ({"truth_discounted": None} if r["policy"] == "b" else {}) for r in suite_rows()]
    suite = scored(rows)
    assert set(suite.cases["policy"]) == {"a", "c", "d"}
    assert suite.line("near", "test").median.value == pytest.approx(4 / 40)  # of 2 and 6, twice
