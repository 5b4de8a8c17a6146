"""One number for a policy, chosen without truth."""

from dataclasses import replace

import pytest

from ropeval.evaluation.verdict.one_answer import answers, one_answer
from ropeval.evaluation.verdict.verdict import give_verdicts
from tests.evaluation.verdict.estimates import estimate, world


def choose(*estimates):
    return one_answer(give_verdicts(estimates))


def test_simulator_and_q_that_agree_count_by_their_precision():
    found = choose(world(5.0, spread=0.01), estimate("fqe-clip", 5.1, spread=0.02))
    assert found.methods == pytest.approx({"world": 0.8, "fqe-clip": 0.2})
    assert found.value == pytest.approx(0.8 * 5.0 + 0.2 * 5.1)
    assert (found.low, found.high) == pytest.approx((found.value - 1.0, found.value + 1.0))


def test_a_q_that_contradicts_does_not_count():
    assert choose(world(5.0), estimate("fqe-clip", 9.0)).methods == {"world": 1.0}


def test_a_q_whose_error_nobody_knows_does_not_count():
    """All members but one diverged: it has no spread, no interval, and would take that of the simulator away."""
    left = replace(estimate("fqe-clip", 9.0, lost=0.8), interval=None)
    del left.signs["spread"]
    found = choose(world(5.0), left)
    assert found.methods == {"world": 1.0}
    assert (found.low, found.high) == (4.0, 6.0)


def test_with_one_member_each_the_simulator_is_the_answer():
    alone, beside = world(5.0), estimate("fqe-clip", 9.0)
    for one in (alone, beside):
        del one.signs["spread"]
    assert choose(alone, beside).value == 5.0


@pytest.mark.parametrize("other", ["lspe", "wis", "mean-return"])
def test_only_a_fitted_q_is_blended_in(other):
    assert choose(world(5.0), estimate(other, 5.0)).methods == {"world": 1.0}


def test_of_several_q_the_first_counts():
    found = choose(world(5.0), estimate("fqe", 5.0), estimate("fqe-clip", 5.0))
    assert set(found.methods) == {"world", "fqe"}


def test_without_a_simulator_the_best_verdict_wins():
    shaky = estimate("fqe", 3.0, spread=5.0)
    calm = estimate("fqe-clip", 4.0, spread=0.001, outside=0.0)
    assert choose(shaky, calm, estimate("mean-return", 2.0)).value == 4.0


def test_a_guess_that_looks_at_the_policy_comes_before_what_the_log_earned():
    found = choose(estimate("mean-return", 2.0), estimate("fqe", 3.0, spread=5.0))
    assert (found.value, found.verdict.word) == (3.0, "guess")
    assert choose(estimate("mean-return", 2.0)).value == 2.0


def test_what_diverged_is_no_answer():
    assert choose(estimate("fqe", None)) is None
    assert choose(estimate("world", None), estimate("mean-return", 2.0)).value == 2.0


def test_what_was_hardly_trained_does_not_count_beside_what_was():
    """It is calm, and by its precision would count for nearly everything."""
    brief = estimate("fqe", 5.0, spread=0.0001, short=0.9)
    assert choose(world(5.0), brief).methods == {"world": 1.0}
    assert set(choose(world(5.0), brief, estimate("fqe-clip", 5.0)).methods) == {"world", "fqe-clip"}
    calm = estimate("fqe", 5.0, spread=0.001, outside=0.0)
    assert choose(world(9.0, short=0.9), calm).methods == {"fqe": 1.0}
    assert choose(world(9.0, short=0.9)).methods == {"world": 1.0}  # there is no other
    assert choose(world(9.0, short=0.9)).verdict.word == "guess"


def test_every_policy_has_its_own():
    found = answers([world(5.0), estimate("fqe", 4.0, policy="other")])
    assert [(one.policy, one.value) for one in found] == [("new", 5.0), ("other", 4.0)]
