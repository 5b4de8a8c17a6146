"""What is written for other programs to read."""

import polars as pl
import pytest


def test_the_flat_files_hold_every_run_and_both_errors(small):
    every = pl.read_csv(small / "tables" / "runs.csv")
    assert len(every) == 2 * (2 + 4 + 16)
    one = every.filter(method="fqe", task="made/one", seed=3)
    assert one["rmae_discounted"][0] == pytest.approx(0.04)
    assert one["rmae_mean_reward"][0] == pytest.approx(0.46)
    best = pl.read_csv(small / "tables" / "scores.csv").filter(choice="best")
    assert best["chosen_with_the_truth"].all()
    curves = pl.read_csv(small / "figures" / "errors-discounted-default.csv")
    assert curves.filter(panel="made/one", series="fqe")["y"].to_list() == pytest.approx([1.0, 0.4875, 0.025])
    assert curves.filter(panel="made/one", series="mean-return", kind="line at y")["y"].to_list() == [0.4]


def test_the_flat_files_hold_scores_logs_and_cases(suite_report):
    scores = pl.read_csv(suite_report / "tables" / "suite.csv")
    assert set(scores["family"]) == {"all", "bandit", "tabular"}
    far = scores.filter(method="far", split="test", family="all")
    assert far.select("answered", "refused", "diverged", "missing").row(0) == (4, 1, 1, 0)
    assert len(pl.read_csv(suite_report / "tables" / "cases.csv")) == 2 * 4 * 4
    assert {"suite-seconds", "suite-errors-test", "suite-profile-dev"} <= {
        p.stem for p in suite_report.glob("figures/*.csv")
    }
