"""One line that a user can mend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.errors import LONGEST, UserError, either, unknown_name


@given(st.text(max_size=20), st.integers(0, 3 * LONGEST))
def test_a_message_is_one_line_of_bounded_length(text, times):
    said = str(UserError(text * (times // 20)))
    assert len(said.splitlines()) <= 1
    assert len(said) <= LONGEST + 3


def test_of_a_long_message_both_ends_are_shown():
    said = str(UserError("log.npz: " + "x" * 5000 + " what to do"))
    assert said.startswith("log.npz: x")
    assert said.endswith("x what to do")


def test_an_unknown_name_lists_the_choices_in_order():
    assert str(unknown_name("method", "fqa", ["lspe", "fqe"])) == "unknown method 'fqa'; choose from: fqe, lspe"


@pytest.mark.parametrize(
    ("choices", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a, or b"), (["a", "b", "c"], "a, b, or c")]
)
def test_a_list_in_a_sentence(choices, said):
    assert either(choices) == said
