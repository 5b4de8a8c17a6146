"""The report of a suite: every format has the scores, every table says of which split it is, nothing is dropped."""

import re
import shutil
import subprocess

import polars as pl
import pytest

from ropeval.bench.results.report import write_report
from ropeval.bench.results.report.suite_charts import THRESHOLDS, suite_charts
from ropeval.bench.results.report.suite_page import verdict
from ropeval.bench.results.rows import BASELINES, ROWS, Failure
from ropeval.bench.results.suite_scores import score_suite
from ropeval.bench.results.summary import summarise
from ropeval.report.palette import Palette
from tests.bench.results.suites import LOGS, REFUSAL, cases, suite_rows, trivial
from tests.bench.studies import runs, write_study

ALL = ["md", "tex", "csv", "html"]


def reported(folder, rows, formats=ALL, **study):
    made = write_study(folder / "study", rows, failures={"far-d": REFUSAL}, seeds=1, resample=True, **study)
    write_report(made, folder / "report", formats)
    return folder / "report"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return reported(tmp_path_factory.mktemp("suite"), suite_rows())


def section(report, title):
    text = (report / "report.md").read_text(encoding="utf-8")
    (found,) = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(f"{title}\n")]
    return found


def test_test_stands_first_and_dev_beside_it(report):
    found = section(report, "Which estimator to believe")
    assert "| method | error, test | error, dev | answered, test |" in found
    near = r"^\| near \| \*\*0\.075.*?\*\* \| \*\*0\.025\*\* \| 6 of 6 \| 100% \| 100% \|$"  # of 2, 2, 2, 6 in 40
    assert re.search(near, found, re.MULTILINE)
    assert re.search(r"^\| far † \| 0\.500 .* \| 0\.000 \| 4 of 6 \| 100% \| 0% \|$", found, re.MULTILINE)


def test_every_table_says_which_split_it_is(report):
    text = (report / "report.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    for name in ("Accuracy", "Ranking", "Answers, intervals and seconds", "By family", "Log by log"):
        assert [t for t in titles if t.startswith(name)] == [f"{name}, test split", f"{name}, dev split"]
    assert "Test split: 2 logs, 6 cases" in section(report, "Accuracy, test split")
    assert "Dev split: 2 logs, 2 cases" in section(report, "Accuracy, dev split")


def test_what_was_not_answered_is_counted_with_its_reason(report):
    found = section(report, "Answers, intervals and seconds, test split")
    assert "| far † | 6 | 4 | 1 | 1 | 0 | 4 | 25% | 0.200 | 8.00 |" in found  # 9 s, and 7 s for three policies
    assert "| far | the policy: it has no probabilities | 1 | 1 | suite/bandit-weak-500 · d |" in section(
        report, "What was refused"
    )
    assert "1 runs were refused" in (report / "report.md").read_text(encoding="utf-8")


def test_by_family_who_answered_too_little_of_it_is_marked_there(report):
    found = section(report, "By family, test split")
    assert "| method | bandit (1 log) | tabular (1 log) |" in found
    assert "| far | 0.250 † | 0.500 |" in found
    assert "| near | **0.083** | **0.083** |" in found


def test_errors_of_an_incomplete_log_are_in_brackets(report):
    found = section(report, "Log by log, test split")
    assert re.search(r"suite/bandit-weak-500 \| bandit \| 3 \| \*\*0\.083\*\* .*\| \(0\.250\) \|", found)
    assert re.search(r"suite/chain-200 \| tabular \| 3 \| \*\*0\.083\*\* .*\| 0\.500 \|", found)


def test_coarse_truths_are_flagged(tmp_path):
    rows = [
        r | ({"truth_discounted_se": 0.3} if r["policy"] == "c" and r["task"] == LOGS[0] else {}) for r in suite_rows()
    ]
    report = reported(tmp_path, rows, ["md"])
    assert "0.75% \\*" in section(report, "True values")
    assert section(report, "True values").count("% \\*") == 1
    assert "suite/chain-200 \\* |" in section(report, "Log by log, test split")
    assert "suite/chain-200 |" in section(report, "Log by log, dev split")
    text = (report / "report.md").read_text(encoding="utf-8")
    assert "1 true value known only to a standard error of more than 0.5% of the range: suite/chain-200 · c" in text


def test_the_flat_files_hold_scores_logs_and_cases(report):
    scores = pl.read_csv(report / "tables" / "suite.csv")
    assert set(scores["family"]) == {"all", "bandit", "tabular"}
    far = scores.filter(method="far", split="test", family="all")
    assert far.select("answered", "refused", "diverged", "missing").row(0) == (4, 1, 1, 0)
    assert len(pl.read_csv(report / "tables" / "cases.csv")) == 2 * 4 * 4
    assert {"suite-seconds", "suite-errors-test", "suite-profile-dev"} <= {p.stem for p in report.glob("figures/*.csv")}


def test_the_page_begins_with_the_answer(report):
    page = (report / "report.html").read_text(encoding="utf-8")
    lead = re.search(r'<p class="lead">(.*?)</p>', page)[1]
    assert lead.startswith("near has the lowest error of the 3 methods that answered at least 90% of the cases: 0.075")
    assert "mean-return has 0." in lead
    assert "test split" in lead
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert headings == ["At a glance", "Test split", "Dev split", "True values", "Case by case", "What is missing"]


def test_a_method_of_one_s_own_stands_beside_all_others(tmp_path):
    suite = write_study(tmp_path / "suite", suite_rows(), failures={"far-d": REFUSAL}, seeds=1, resample=True)
    own = trivial(LOGS[0], "mean-reward", 50.0) + trivial(LOGS[0], "mean-return", 20.0)
    own += cases(LOGS[0], "own", dict.fromkeys("abcd", 0.4))
    mine = write_study(tmp_path / "mine", own, name="mine", seeds=1, resample=True)
    write_report([mine, suite], tmp_path / "out", ["md"])
    found = section(tmp_path / "out", "Answers, intervals and seconds, test split")
    names = re.findall(r"^\| ([\w-]+)", found, flags=re.MULTILINE)[1:]
    assert names == ["near", "mean-return", "mean-reward", "own", "far"]
    assert "| own † | 6 | 3 | 0 | 0 | 3 | 3 | 100% |" in found
    assert "Nothing of the study is missing" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_tasks_without_a_split_and_one_with_a_single_policy(tmp_path):
    rows = [r | {"split": ""} for r in suite_rows()] + runs("alone", "near", [110.0])
    report = reported(tmp_path, rows)
    assert "8 of 8" in section(report, "Accuracy, no split")
    text = (report / "report.md").read_text(encoding="utf-8")
    assert "No range of true values, so only an RMAE: alone" in text
    by_case = section(report, "RMAE against the discounted return, by task and method")
    assert re.search(r"^\| alone \| – .*0\.100", by_case, re.MULTILINE)


def test_the_profile_counts_what_never_arrives():
    told = Failure("u", LOGS[1], "far", "{}", "…", "d", refused=True)
    summary = summarise(pl.DataFrame(suite_rows(), schema=ROWS))
    suite = score_suite(summary, [told])
    charts = {c.slug: c for c in suite_charts(suite, Palette(summary.methods, BASELINES))}
    profile = charts["suite-profile-test"]
    assert [panel.title for panel in profile.panels] == ["all families", "bandit", "tabular"]
    (far,) = [series for series in profile.panels[0].series if series.group == "far"]
    assert far.y[-1] == pytest.approx(4 / 6)
    assert far.y[0] == pytest.approx(1 / 6)  # c of the first log is exact
    assert THRESHOLDS[0] < 0.05
    seconds = charts["suite-seconds"]
    (near,) = [series for series in seconds.panels[0].series if series.group == "near"]
    assert (near.x[0], near.y[0]) == (9.0, pytest.approx(0.075))


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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_latex_document_compiles(report):
    command = ["pdflatex", "-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "report.tex"]
    done = subprocess.run(command, cwd=report, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")
