"""The page of a suite: the answer first, whatever its names are."""

import re

import polars as pl

from ropeval.bench.results.report.suite_page import verdict
from ropeval.bench.results.rows import ROWS
from ropeval.bench.results.suite_scores import score_suite
from ropeval.bench.results.summary import summarise
from tests.bench.results.report.conftest import reported, section
from tests.bench.results.suites import suite_rows
from tests.bench.studies import runs


def test_the_page_begins_with_the_answer(suite_report):
    page = (suite_report / "report.html").read_text(encoding="utf-8")
    lead = re.search(r'<p class="lead">(.*?)</p>', page)[1]
    assert lead.startswith("near has the lowest error of the 3 methods that answered at least 90% of the cases: 0.075")
    assert "mean-return has 0." in lead
    assert "test split" in lead
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert headings == ["At a glance", "Test split", "Dev split", "True values", "Case by case", "What is missing"]


def test_tasks_without_a_split_and_one_with_a_single_policy(tmp_path):
    rows = [r | {"split": ""} for r in suite_rows()] + runs("alone", "near", [110.0])
    report = reported(tmp_path, rows)
    assert "8 of 8" in section(report, "Accuracy, no split")
    text = (report / "report.md").read_text(encoding="utf-8")
    assert "No range of true values, so only an RMAE: alone" in text
    by_case = section(report, "RMAE against the discounted return, by task and method")
    assert re.search(r"^\| alone \| – .*0\.100", by_case, re.MULTILINE)


def test_hostile_names_are_only_words(tmp_path):
    names = {"near": "<script>alert(1)</script>", "c": "a|b\nc", "d": "$x_1^2$ \\input{x} 100% \u202e"}
    rows = [r | {"method": names.get(r["method"], r["method"]), "policy": names.get(r["policy"], r["policy"])}
            for r in suite_rows()]  # fmt: skip
    report = reported(tmp_path, rows)
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\u202e" not in page
    for line in section(report, "Accuracy, test split").splitlines():
        assert not line.startswith("|") or len(re.findall(r"(?<!\\)\|", line)) == 8
    assert "\\input" not in (report / "report.tex").read_text(encoding="utf-8")


def test_nobody_answered_enough():
    rows = [r for r in suite_rows() if r["method"] == "far"]
    suite = score_suite(summarise(pl.DataFrame(rows, schema=ROWS)), [])
    assert verdict(suite).startswith("No method answered 90% of the cases (test split")
