"""The table of limits, and how it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.evaluation.verdict.rule import BY_REASON, SAID, WORDS, Limits, judge, reason, table, worse

LIMITS = {"spread": Limits(0.1, 0.3), "beyond": Limits(0.0, 1.0)}


@pytest.mark.parametrize(
    ("signs", "word", "because"),
    [
        ({"spread": 0.1, "beyond": 0.0}, "supported", []),
        ({"spread": 0.11, "beyond": 0.0}, "partly", ["spread"]),
        ({"spread": 0.2, "beyond": 1.1}, "guess", ["beyond", "spread"]),
        ({"beyond": 2.0}, "guess", ["beyond"]),
        ({}, "supported", []),
    ],
)
def test_the_worst_sign_decides(signs, word, because):
    assert judge(signs, LIMITS) == (word, because)


def test_nothing_is_better_than_its_kind_allows():
    assert judge({"spread": 0.0}, LIMITS, best="partly").word == "partly"
    assert judge({"spread": 1.0}, LIMITS, best="partly").word == "guess"


signs = st.fixed_dictionaries({"spread": st.floats(0, 2), "beyond": st.floats(0, 2)})


@given(signs, st.floats(0, 1), st.sampled_from(["spread", "beyond"]))
def test_a_larger_sign_never_makes_a_better_verdict(seen, more, which):
    larger = seen | {which: seen[which] + more}
    assert worse(judge(seen, LIMITS).word, judge(larger, LIMITS).word) == judge(larger, LIMITS).word


def test_limits_by_reason_are_no_part_of_the_table_that_is_fitted():
    for name, limits in BY_REASON.items():
        assert all(name not in fitted for fitted in table().limits.values())
        assert 0.0 < limits.harmless < limits.guess
        assert reason(name, 0.5)


def test_the_frozen_table_is_whole():
    """Every kind has its limits in order, every limit has its words, every word its measured error."""
    found = table()
    assert {"simulator", "beside", "alone", "weights"} == set(found.limits)
    for limits in found.limits.values():
        assert all(one.harmless <= one.guess for one in limits.values())
        assert all(reason(name, 0.5) for name in limits)
        assert set(limits) <= set(SAID)
    for kind, by_word in found.expected.items():
        assert set(by_word) <= set(WORDS)
        errors = [by_word[word].share for word in WORDS if word in by_word]
        assert errors == sorted(errors), f"{kind}: a better verdict must mean a smaller error"
