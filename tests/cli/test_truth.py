"""True values from a file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.cli.truth import read_truth
from ropeval.errors import UserError


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9), min_size=1
    )
)
def test_only_the_policies_asked_about_count(tmp_path_factory, known):
    path = tmp_path_factory.mktemp("truth") / "truth.json"
    path.write_text(json.dumps({**known, "other": 1.0}))
    assert read_truth(path, [*"abcd"]) == {name: float(value) for name, value in known.items()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file of true values"),
        ("{", "cannot be read as JSON"),
        ("[1]", "expected an object of names and values"),
        ('{"a": true}', "the true value of 'a' is True; it must be a finite number"),
        ('{"b": NaN}', "the true value of 'b' is nan"),
        ('{"b": 1}', "it holds no value for 'a'; found b"),
        ("{}", "found nothing"),
    ],
)
def test_what_is_no_truth(tmp_path, content, message):
    path = tmp_path / "truth.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        read_truth(path, ["a"])
    assert str(caught.value).startswith(f"{path}: ")
