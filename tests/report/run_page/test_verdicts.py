"""The table that says how far to rely on each estimate."""

from dataclasses import replace

from ropeval.evaluation.result import Verdict
from ropeval.report.run_page import Outcome, run_page
from ropeval.report.run_page.verdicts import verdicts_table
from tests.report.outcomes import estimate

SURE = Verdict("supported", "all agree", 0.05, 1.0)
GUESS = Verdict("guess", "it ignores the policy")


def judged():
    signs = {"support": 0.9, "spread": 0.01, "scale": 10.0}
    world = replace(estimate("left", "world", 10.0), verdict=SURE, signs=signs, family="learned simulator")
    trivial = replace(estimate("left", "mean-return", 3.0), verdict=GUESS, family="baselines")
    return Outcome([trivial, world])


def test_the_number_to_go_by_comes_first_then_every_method():
    rows = [[cell.text for cell in row] for row in verdicts_table(judged()).cells()]
    assert rows[0][:5] == ["left", "to go by", "10", "supported", "5%"]
    assert [row[1] for row in rows] == ["to go by", "mean-return", "world"]
    assert rows[1][3:] == ["guess", "–", "it ignores the policy"]


def test_a_single_method_is_not_said_twice():
    assert len(verdicts_table(Outcome(judged().estimates[1:])).rows) == 1


def test_the_page_relies_on_the_verdict_and_older_runs_have_none():
    page = run_page(judged()).html()
    assert "left would earn about 10 (9 to 12); the log supports it." in page
    assert "according to world" in page
    assert "supported (within about 1, nine times in ten): all agree" in page
    assert "How far to rely on each" in page
    assert "How far to rely on each" not in run_page(Outcome([estimate("left", "fqe", 1.0)])).html()
