"""What `ropeval evaluate` prints."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from ropeval.evaluation.result import Finding, Ranking, Verdict
from ropeval.report.terminal import print_ranking, print_results, ranking_table, results_table, spoken_against
from tests.report.outcomes import estimate, estimates


def text(show, *arguments) -> str:
    console = Console(width=100, record=True, file=StringIO())
    show(*arguments[:1], console, *arguments[1:])
    return console.export_text()


def test_one_row_per_policy_and_method_and_the_truth_beside_it():
    results = [estimate("left", "mean-reward", 5.0), estimate("left", "fqe", 10.0), estimate("right", "fqe", None)]
    table = results_table(results, [], {"left": 8.0})
    cells = [[cell.text for cell in row] for row in table.cells()]
    assert table.columns == ["policy", "method", "estimate", "95% interval", "true\nvalue", "error", "warnings"]
    assert cells == [
        ["left", "mean-reward", "5", "–", "8", "-3 (38%)", ""],
        ["", "fqe", "10", "9…12", "8", "+2 (25%)", ""],
        ["right", "fqe", "diverged", "–", "–", "–", ""],
    ]
    assert table.rules == [2]  # a line between the policies
    assert table.cells()[0][0].below == "deterministic"


def test_numbers_point_at_the_sentences_below():
    printed = text(print_results, estimates())
    assert printed.count("1 2") == 2  # of either policy's rope+fqe
    assert "1 ✖ severe  the representation collapsed; compare with mean-reward" in printed
    assert "2 ▲ warning  training had not settled; use more --steps" in printed


def test_the_worst_comes_first_and_each_severity_has_its_look():
    findings = [Finding(f, f, f"a {f} thing", "") for f in ("note", "warning", "severe")]
    results = [estimate("p", "fqe", 1.0, tuple(findings[:2])), estimate("q", "fqe", 1.0, tuple(findings))]
    told = spoken_against(results)
    assert list(told.values()) == ["severe", "warning", "note"]
    cells = [row[-1] for row in results_table(results, list(told)).cells()]
    assert [(cell.text, cell.tone) for cell in cells] == [("2 3", "warning"), ("1 2 3", "severe")]
    shown = StringIO()
    print_results(results, Console(width=100, force_terminal=True, color_system="standard", file=shown))
    looks = [re.search(r"((?:\x1b\[[\d;]+m)+)\d [✖▲●]", line) for line in shown.getvalue().splitlines()]
    assert len({look[1] for look in looks if look}) == 3


def test_the_probability_of_the_best_and_the_scores():
    ranking = Ranking(
        "fqe", ["left", "right"], [10.0, 2.0], [0.97, 0.03], [[0.5, 1.0], [0.0, 0.5]], 200, {"regret@1": 0}
    )
    table = ranking_table([ranking, Ranking("lspe", ["left"], [1.0], [1.0], [[0.5]], 0)])
    cells = [[cell.text for cell in row] for row in table.cells()]
    assert cells == [["left", "97%", "–"], ["right", "3%", "–"], ["regret@1", "0", "–"]]
    assert table.rules == [2]
    assert text(print_ranking, []) == ""


def test_support_stands_below_the_method_that_can_tell():
    told = replace(estimate("p", "world", 1.0), extras={"support": 0.42, "fallback": 0.021})
    rows = results_table([told, estimate("p", "fqe", 1.0)], []).cells()
    assert [row[1].below for row in rows] == ["support 0.42, 2% from the log", ""]


def test_the_verdict_stands_below_the_method():
    told = replace(estimate("p", "world", 1.0), verdict=Verdict("partly", "few states"))
    rows = results_table([told, estimate("p", "fqe", 1.0)], []).cells()
    assert [row[1].below for row in rows] == ["partly", ""]


def test_the_number_to_go_by_is_said_with_how_far_to_rely_on_it():
    told = replace(estimate("p", "world", 1.0), verdict=Verdict("guess", "the log shows little of it", 0.9))
    assert "p: about 1" in text(print_results, [told])
    assert "by world; guess (within about 90% of the range, nine times in ten): the log shows little of it" in " ".join(
        text(print_results, [told]).split()
    )
    in_rewards = replace(told, verdict=Verdict("guess", "the log shows little of it", 0.9, 1234.5))
    assert "guess (within about 1,200, nine times in ten)" in " ".join(text(print_results, [in_rewards]).split())
    assert "about" not in text(print_results, [estimate("p", "fqe", 1.0)])  # a run from before there were verdicts
