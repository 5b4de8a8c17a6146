"""How a policy stands against the log, in words."""

from dataclasses import replace

from ropeval.evaluation.result import Versus
from ropeval.report.versus import versus_cell, versus_sentence
from tests.report.outcomes import estimate

GAIN = Versus(10.0, 1.2, 0.3, 2.1, 0.95, 0.97)


def test_a_gain_is_a_share_of_what_the_log_earned():
    assert versus_sentence(GAIN) == (
        "+12% over what the log earned (10; 95% interval +3% to +21%, probability of being better 0.97)"
    )
    cell = versus_cell(replace(estimate("a", "fqe", 11.2), versus_log=GAIN))
    assert (cell.text, cell.below) == ("+12% p 0.97", "+3%…+21%")
    assert versus_cell(estimate("a", "fqe", 11.2)).text == ""


def test_a_loss_is_below_and_costs_have_no_percentage():
    loss = Versus(-10.0, -2.0, -3.0, -1.0, 0.95, 0.001)
    assert versus_sentence(loss) == (
        "2 below what the log earned (-10; 95% interval −3 to −1, probability of being better below 0.01)"
    )


def test_a_share_of_next_to_nothing_is_told_as_a_number():
    assert versus_sentence(Versus(0.001, 5.0)) == "+5 over what the log earned (0.001)"
