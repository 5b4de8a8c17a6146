"""One line that a user can mend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.errors import LONGEST, UserError, either, first_line, unknown_name


@given(st.text(max_size=20), st.integers(0, 3 * LONGEST))
def test_a_message_is_one_line_of_bounded_length(text, times):
    said = str(UserError(text * (times // 20)))
    assert len(said.splitlines()) <= 1
    assert len(said) <= LONGEST + 3


def test_of_a_long_message_both_ends_are_shown():
    said = str(UserError("log.npz: " + "x" * 5000 + " what to do"))
    assert said.startswith("log.npz: x")
    assert said.endswith("x what to do")


def test_an_unknown_name_lists_the_choices_in_order_and_the_nearest_first():
    said = "unknown method 'F_QA'; did you mean fqe? choose from: fqe, lspe"
    assert str(unknown_name("method", "F_QA", ["lspe", "fqe"])) == said
    assert str(unknown_name("method", "zzz", ["lspe", "fqe"])) == "unknown method 'zzz'; choose from: fqe, lspe"


def test_of_many_names_those_spelt_alike_stand_before_the_alphabet():
    said = str(unknown_name("column", "SOFA", ["sofa_score", "age", "ward", "sofa_2"]))
    assert said == "unknown column 'SOFA'; did you mean sofa_2? choose from: sofa_2, sofa_score, age, ward"


def test_of_what_a_library_says_the_first_line_or_its_name():
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(KeyError()) == "KeyError"


@pytest.mark.parametrize(
    ("choices", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a, or b"), (["a", "b", "c"], "a, b, or c")]
)
def test_a_list_in_a_sentence(choices, said):
    assert either(choices) == said
