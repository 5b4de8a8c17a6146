"""The report of a suite: every format has the scores, every table says of which split it is, nothing is dropped."""

import re
import shutil
import subprocess

import pytest

from ropeval.bench.results.missing import Gap
from ropeval.bench.results.report import write_report
from ropeval.bench.results.report.suite_tables import absences
from tests.bench.results.report.conftest import reported, section
from tests.bench.results.suites import LOGS, REFUSAL, cases, suite_rows, trivial
from tests.bench.studies import write_study


def test_test_stands_first_and_dev_beside_it(suite_report):
    found = section(suite_report, "Which estimator to believe")
    assert "| method | error, test | error, dev | answered, test |" in found
    # errors of 2, 2, 2 and 6 of 40
    near = r"^\| near \| \*\*0\.075.*?\*\* \| \*\*0\.025\*\* \| 6 of 6 \| 100% \| 100% \| 0\.075 \|$"
    assert re.search(near, found, re.MULTILINE)
    assert re.search(r"^\| far † \| 0\.500 .* \| 0\.000 \| 4 of 6 \| 100% \| 0% \| 0\.050 \|$", found, re.MULTILINE)


def test_every_table_says_which_split_it_is(suite_report):
    text = (suite_report / "report.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    for name in ("Accuracy", "Ranking", "Answers, intervals and seconds", "By family", "Log by log"):
        assert [t for t in titles if t.startswith(name)] == [f"{name}, test split", f"{name}, dev split"]
    assert "Test split: 2 logs, 6 cases" in section(suite_report, "Accuracy, test split")
    assert "Dev split: 2 logs, 2 cases" in section(suite_report, "Accuracy, dev split")


def test_what_was_not_answered_is_counted_with_its_reason(suite_report):
    found = section(suite_report, "Answers, intervals and seconds, test split")
    assert "| far † | 6 | 4 | 1 | 1 | 0 | 4 | 25% | 0.200 | 8.00 |" in found  # 9 s, and 7 s for three policies
    assert "| far | the policy: it has no probabilities | 1 | 1 | suite/bandit-weak-500 · d |" in section(
        suite_report, "What was refused"
    )
    assert "1 runs were refused" in (suite_report / "report.md").read_text(encoding="utf-8")


def test_by_family_who_answered_too_little_of_it_is_marked_there(suite_report):
    found = section(suite_report, "By family, test split")
    assert "| method | bandit (1 log) | tabular (1 log) |" in found
    assert "| far | 0.250 † | 0.500 |" in found
    assert "| near | **0.083** | **0.083** |" in found


def test_errors_of_an_incomplete_log_are_in_brackets(suite_report):
    found = section(suite_report, "Log by log, test split")
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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_latex_document_compiles(suite_report):
    command = ["pdflatex", "-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "report.tex"]
    done = subprocess.run(command, cwd=suite_report, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")


def test_what_is_missing_is_a_row_for_every_method_and_reason():
    """A method that was run on a few logs of a suite lacks hundreds of cases, none of which is worth a row."""
    lacking = [Gap(f"log{i} · {policy}", "few", "", 0, 1, "") for i in range(40) for policy in "abcde"]
    failed = [Gap("log0 · a", "far", "", 0, 1, "out of memory")]
    assert absences([*lacking, *failed]).rows == [
        ["few", "all", "not run", "40", "200", "log0 · a"],
        ["far", "all", "out of memory", "1", "1", "log0 · a"],
    ]
