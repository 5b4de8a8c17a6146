"""Several studies read as one: what may differ between them, what counts twice, and what is refused."""

import polars as pl
import pytest

from ropeval.bench.results.report import write_report
from ropeval.bench.results.rows import load_curves, load_rows
from ropeval.bench.results.together import load_results
from ropeval.bench.run.study import read_study
from ropeval.errors import UserError
from tests.bench.studies import curve, runs, small_study, write_mine, write_published, write_study

OTHER_LOG = {"data_sha256": "another log of it", "truth_discounted": 101.0, "random_mean_reward": 48.5}


@pytest.fixture
def published(tmp_path):
    return write_published(tmp_path)


def test_one_folder_gives_what_stands_in_it(tmp_path):
    folder = small_study(tmp_path)
    results = load_results([folder])
    assert results.rows.equals(load_rows(folder))
    assert results.study == read_study(folder)
    assert results.curves(2).equals(load_curves(folder, 2))
    assert results.logs == []


def test_the_first_folder_s_truth_counts_and_both_logs_are_named(published, tmp_path):
    results = load_results([published, write_mine(tmp_path, **OTHER_LOG)])
    assert set(results.rows["truth_discounted"]) == {100.0}
    assert set(results.rows["random_mean_reward"]) == {50.0}
    assert set(results.rows["method"]) == {"mean-reward", "mean-return", "fqe", "new"}
    (sentence,) = results.logs
    assert sentence.startswith("t: 2 logs, collected anew from the same policies: ")
    assert sentence.endswith(": fqe, mean-return, mean-reward from log of t; new from another ")
    assert results.name == "made"
    turned = load_results([tmp_path / "mine", published])
    assert set(turned.rows["truth_discounted"]) == {101.0}
    assert turned.name == "mine"


def test_a_run_in_two_folders_counts_once(published, tmp_path):
    results = load_results([published, write_mine(tmp_path, **OTHER_LOG)])
    assert results.rows.filter(method="fqe")["estimate"].to_list() == [110.0, 111.0]
    curves = results.curves().cast({pl.Categorical: pl.String})
    assert curves.filter(method="fqe", seed=0)["value"].to_list() == [0.0, 110.0]
    assert curves.filter(method="new", seed=1)["value"].to_list() == [5.0, 7.0]
    turned = load_results([tmp_path / "mine", published])
    assert turned.rows.filter(method="fqe")["estimate"].to_list() == [200.0, 111.0]
    assert turned.curves().filter(pl.col("method") == "fqe", pl.col("step") == 2)["value"].to_list() == [7.0, 111.0]


def test_a_run_without_curves_does_not_get_those_of_another_folder(published, tmp_path):
    (published / "units" / "unit0.curves.parquet").unlink()
    results = load_results([published, write_mine(tmp_path, **OTHER_LOG)])
    assert set(results.curves()["method"]) == {"new"}


def test_a_value_that_only_a_later_folder_measured_is_everyone_s(tmp_path):
    unknown = {"random_discounted": None, "random_discounted_se": None}
    first = write_study(tmp_path / "a", runs("t", "fqe", [110.0], **unknown))
    second = write_study(tmp_path / "b", runs("t", "new", [105.0], random_discounted=-2.0, random_discounted_se=0.3))
    rows = load_results([first, second]).rows
    assert rows["random_discounted"].to_list() == [-2.0, -2.0]
    assert rows["random_discounted_se"].to_list() == [0.3, 0.3]


def test_the_same_folder_twice_is_refused(published, tmp_path):
    (tmp_path / "link").symlink_to(published)
    with pytest.raises(UserError, match="named twice"):
        load_results([published, tmp_path / "link"])


def test_rows_that_do_not_name_their_log(published, tmp_path):
    (sentence,) = load_results([published, write_mine(tmp_path, data_sha256=None)]).logs
    assert "new from unknown" in sentence


def test_curves_without_a_step_in_common_are_left_out(published, tmp_path):
    rows = runs("t", "fqe", [1.0, 2.0, 112.0])
    points = curve(rows[2], "fqe", "estimate", {3: 0.0, 4: 112.0})
    other = write_study(tmp_path / "other", rows[2:], points)
    write_report([published, other], tmp_path / "out", ["csv"])
    assert not (tmp_path / "out" / "figures" / "errors-discounted-default.csv").exists()
